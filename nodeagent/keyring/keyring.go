// Package keyring manages the keys that open the values sealed for a node.
package keyring

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

// grace is the minimum time to keep a replaced key: the manager may still be sealing to it.
const grace = time.Hour

// document names the document with the keys.
const document = "sealing"

// Documents stores the document with the keys. It is a *state.Documents.
type Documents interface {
	Get(name string) ([]byte, error)
	Put(name string, body []byte) error
	SetAside(name string) (string, error)
}

// A Keyring has the newest key, which is published, and for a time the previous one. Only a key that is on disk is
// published. It is not safe for concurrent use.
type Keyring struct {
	Config
	keys []key // oldest first; none if the disk can't be read or written
}

// Config configures a keyring.
type Config struct {
	Node   string
	Disk   Documents
	MaxAge time.Duration // of the newest key; 0 never replaces it
	Now    func() time.Time
	Warn   func(msg string, args ...any)
}

// New returns a keyring without keys: Load reads them.
func New(c Config) *Keyring { return &Keyring{Config: c} }

type key struct {
	private *seal.PrivateKey
	made    time.Time
}

func (k key) fingerprint() string { return k.private.PublicKey().Fingerprint() }

// A savedKey is a key on disk. It must never be printed.
type savedKey struct {
	Seed []byte    `json:"seed"`
	Made time.Time `json:"made"`
}

// Public returns the newest public key, "" if there is none.
func (r *Keyring) Public() string {
	if len(r.keys) == 0 {
		return ""
	}
	return r.newest().private.PublicKey().String()
}

func (r *Keyring) newest() key { return r.keys[len(r.keys)-1] }

// Load reads the keys from disk. If there are none or they are damaged, it makes one: the manager seals values
// again once the new key is published.
func (r *Keyring) Load() {
	keys, err := r.read()
	switch damaged := (*state.DamagedError)(nil); {
	case err == nil:
		r.keys = keys
		return
	case errors.As(err, &damaged):
		r.Warn("the node's key is lost, making a new one", "error", err)
	case !errors.Is(err, fs.ErrNotExist):
		r.Warn("cannot read the node's key: resources with secrets have to wait", "error", err)
		return
	}
	r.add(nil)
}

func (r *Keyring) read() ([]key, error) {
	text, err := r.Disk.Get(document)
	if err != nil {
		return nil, err
	}
	keys, err := decodeKeys(text)
	if err == nil {
		return keys, nil
	}
	aside, failed := r.Disk.SetAside(document)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	return nil, fmt.Errorf("%w (%w)", &state.DamagedError{Name: document, Aside: aside}, err)
}

func decodeKeys(text []byte) ([]key, error) {
	var saved []savedKey
	if json.Unmarshal(text, &saved) != nil { // its error may quote a key
		return nil, errors.New("not a list of keys")
	}
	if len(saved) == 0 {
		return nil, errors.New("the list of keys is empty")
	}
	keys := make([]key, len(saved))
	for i, k := range saved {
		private, err := seal.ParsePrivateKey(k.Seed)
		if err != nil {
			return nil, err
		}
		keys[i] = key{private, k.Made}
	}
	return keys, nil
}

// add creates a key and keeps the others.
func (r *Keyring) add(others []key) {
	private, err := seal.GenerateKey()
	if err == nil {
		err = r.save(append(slices.Clip(others), key{private, r.Now().UTC()}))
	}
	if err != nil {
		r.Warn("cannot make a new key for the node", "error", err)
	}
}

// save writes the keys to disk, then uses them.
func (r *Keyring) save(keys []key) error {
	saved := make([]savedKey, len(keys))
	for i, k := range keys {
		saved[i] = savedKey{k.private.Bytes(), k.made}
	}
	text, err := json.Marshal(saved)
	if err == nil {
		err = r.Disk.Put(document, text)
	}
	if err != nil {
		return fmt.Errorf("cannot save the node's keys: %w", err)
	}
	r.keys = keys
	return nil
}

// Rotate creates a new key if the newest is too old, and drops the previous one once nothing needs it. object may be
// nil. applied are the entries of the current target.
func (r *Keyring) Rotate(object *v1alpha1.NodeCatalog, applied []v1alpha1.CatalogEntry) {
	switch {
	case len(r.keys) == 0:
		r.Load()
	case r.age() < 0: // the clock was set back: the age counts from now
		was := r.newest()
		if err := r.save(append(slices.Clone(r.keys[:len(r.keys)-1]), key{was.private, r.Now().UTC()})); err != nil {
			r.Warn("cannot save when the key of the node was made", "error", err)
		}
	case len(r.keys) == 1 && r.MaxAge > 0 && r.age() >= r.MaxAge:
		r.add(r.keys)
	case len(r.keys) > 1 && r.replaced(object, applied):
		if err := r.save(r.keys[len(r.keys)-1:]); err != nil {
			r.Warn("cannot drop the old key of the node", "error", err)
		}
	}
}

func (r *Keyring) age() time.Duration { return r.Now().Sub(r.newest().made) }

// replaced reports whether the newest key opens every value of the current and the next target.
func (r *Keyring) replaced(object *v1alpha1.NodeCatalog, applied []v1alpha1.CatalogEntry) bool {
	if object == nil || object.Status.PublicKey != r.Public() || r.age() < grace {
		return false
	}
	newest := r.newest().fingerprint()
	return sealedTo(object.Spec.Entries, newest) && sealedTo(applied, newest)
}

// sealedTo reports whether nothing is sealed to another key.
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

// Open returns the value of a sealed attribute. Its errors do not contain the value.
func (r *Keyring) Open(ref v1alpha1.ResourceRef, s v1alpha1.SealedValue) ([]byte, error) {
	purpose := seal.Purpose{Node: r.Node, Ref: string(ref), Attribute: s.Attribute}
	for _, k := range r.keys {
		if k.fingerprint() == s.Key {
			return k.private.Open(purpose, s.Value)
		}
	}
	return nil, fmt.Errorf("cannot open %s: it is sealed to key %s, which the node does not have: it will be sealed again to the key that the node has published",
		purpose, s.Key)
}
