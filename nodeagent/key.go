package nodeagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/seal"
	"github.com/fettle-dev/fettle/internal/state"
)

// keepOld is how long an old key is kept at least once another one took its place: the
// manager may be sealing to it at the moment.
const keepOld = time.Hour

// keysName names the document that the keys are in.
const keysName = "sealing"

// A keyDisk has the keys' document: a *state.Documents.
type keyDisk interface {
	Get(name string) ([]byte, error)
	Put(name string, body []byte) error
	SetAside(name string) (string, error)
}

// A keyring has the keys that open what is sealed for the node: the newest, which is
// published, and for a time the one before it. Only a key that is on disk is published.
type keyring struct {
	node   string
	disk   keyDisk
	maxAge time.Duration // of the newest; 0 is for ever
	now    func() time.Time
	warn   func(msg string, args ...any)

	keys []nodeKey // oldest first; none where the disk can't be read or written
}

// A nodeKey is one of the keys.
type nodeKey struct {
	private *seal.PrivateKey
	made    time.Time
}

func (k nodeKey) fingerprint() string { return k.private.PublicKey().Fingerprint() }

// keptKey is a nodeKey on disk. Never to be printed.
type keptKey struct {
	Seed []byte    `json:"seed"`
	Made time.Time `json:"made"`
}

// public is the key that values are to be sealed to, "" while there is none.
func (r *keyring) public() string {
	if len(r.keys) == 0 {
		return ""
	}
	return r.newest().private.PublicKey().String()
}

func (r *keyring) newest() nodeKey { return r.keys[len(r.keys)-1] }

// load takes the keys from disk. Where there are none that can be used it makes one: what
// is sealed to those that are lost is sealed anew once that is published.
func (r *keyring) load() {
	keys, err := r.read()
	switch damaged := (*state.DamagedError)(nil); {
	case err == nil:
		r.keys = keys
		return
	case errors.As(err, &damaged):
		r.warn("the node's key is lost, it gets another one", "error", err)
	case !errors.Is(err, fs.ErrNotExist):
		r.warn("cannot read the node's key, what is sealed to it must wait", "error", err)
		return
	}
	r.add(nil)
}

func (r *keyring) read() ([]nodeKey, error) {
	text, err := r.disk.Get(keysName)
	if err != nil {
		return nil, err
	}
	keys, err := decodeKeys(text)
	if err == nil {
		return keys, nil
	}
	aside, failed := r.disk.SetAside(keysName)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	return nil, fmt.Errorf("%w (%w)", &state.DamagedError{Name: keysName, Aside: aside}, err)
}

func decodeKeys(text []byte) ([]nodeKey, error) {
	var kept []keptKey
	if json.Unmarshal(text, &kept) != nil { // whose error could tell what is there
		return nil, errors.New("it is no list of keys")
	}
	if len(kept) == 0 {
		return nil, errors.New("there is no key in it")
	}
	keys := make([]nodeKey, len(kept))
	for i, k := range kept {
		private, err := seal.ParsePrivateKey(k.Seed)
		if err != nil {
			return nil, err
		}
		keys[i] = nodeKey{private, k.Made}
	}
	return keys, nil
}

// add makes a new key and keeps it beside others.
func (r *keyring) add(others []nodeKey) {
	private, err := seal.GenerateKey()
	if err == nil {
		err = r.keep(append(slices.Clip(others), nodeKey{private, r.now().UTC()}))
	}
	if err != nil {
		r.warn("cannot make the node another key", "error", err)
	}
}

// keep makes these the keys once they are on disk.
func (r *keyring) keep(keys []nodeKey) error {
	kept := make([]keptKey, len(keys))
	for i, k := range keys {
		kept[i] = keptKey{k.private.Bytes(), k.made}
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = r.disk.Put(keysName, text)
	}
	if err != nil {
		return fmt.Errorf("cannot keep the node's keys: %w", err)
	}
	r.keys = keys
	return nil
}

// tend makes a new key when it is time, and drops old ones that nothing needs any more.
// Both object and target may be nil.
func (r *keyring) tend(object *v1alpha1.NodeCatalog, target *target) {
	switch {
	case len(r.keys) == 0:
		r.load()
	case len(r.keys) == 1 && r.maxAge > 0 && r.age() >= r.maxAge:
		r.add(r.keys)
	case len(r.keys) > 1 && r.replaced(object, target):
		if err := r.keep(r.keys[len(r.keys)-1:]); err != nil {
			r.warn("cannot drop the node's old key", "error", err)
		}
	}
}

func (r *keyring) age() time.Duration { return r.now().Sub(r.newest().made) }

// replaced reports whether the newest key does for all that the host is or is to be kept by.
func (r *keyring) replaced(object *v1alpha1.NodeCatalog, target *target) bool {
	if object == nil || object.Status.PublicKey != r.public() || r.age() < keepOld {
		return false
	}
	newest := r.newest().fingerprint()
	return sealedTo(object.Spec.Entries, newest) && (target == nil || sealedTo(target.entries, newest))
}

// sealedTo reports whether there is nothing that is sealed to another key.
func sealedTo(entries []v1alpha1.CatalogEntry, fingerprint string) bool {
	for _, e := range entries {
		for _, s := range e.Sealed {
			if s.Key != fingerprint {
				return false
			}
		}
	}
	return true
}

// open is the value of a sealed attribute. An error says nothing of it.
func (r *keyring) open(ref v1alpha1.ResourceRef, s v1alpha1.SealedValue) ([]byte, error) {
	purpose := seal.Purpose{Node: r.node, Ref: string(ref), Attribute: s.Attribute}
	for _, k := range r.keys {
		if k.fingerprint() == s.Key {
			return k.private.Open(purpose, s.Value)
		}
	}
	return nil, fmt.Errorf("cannot open %s: it is sealed to key %s, which the node does not have: it stays as it is until it is sealed to the one that the node has published",
		purpose, s.Key)
}
