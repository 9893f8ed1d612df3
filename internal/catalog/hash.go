package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

const hashPrefix = "sha256-"

// Name is the name of the catalog that has these entries: the hash of their content,
// whatever way their JSON was written. Attributes that are no JSON are hashed as they
// are, so that they match no catalog that was compiled.
func Name(entries []v1alpha1.CatalogEntry) string {
	return hashOfAll(hashes(entries))
}

// hashes are the entries' own hashes, in their order.
func hashes(entries []v1alpha1.CatalogEntry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = entryHash(e)
	}
	return out
}

// hashOfAll makes one hash out of many. A catalog's name and a node's digest are made of
// the hashes of entries instead of their text, because a fleet shares most entries
// and would otherwise hash each once a node.
func hashOfAll(hashes []string) string {
	h := sha256.New()
	for _, s := range hashes {
		_, _ = io.WriteString(h, s) // a hash accepts every write
		_, _ = io.WriteString(h, "\n")
	}
	return hashPrefix + hex.EncodeToString(h.Sum(nil))
}

func entryHash(e v1alpha1.CatalogEntry) string {
	text, err := entryJSON(e)
	if err != nil {
		text = []byte(err.Error())
		if e.Attributes != nil {
			text = append(text, e.Attributes.Raw...)
		}
	}
	return hashOf(text)
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// entryJSON is the one form that an entry has for hashing.
func entryJSON(e v1alpha1.CatalogEntry) ([]byte, error) {
	if e.Attributes != nil {
		raw, err := canonicalJSON(e.Attributes.Raw)
		if err != nil {
			return nil, fmt.Errorf("cannot decode attributes of %s: %w", e.Ref(), err)
		}
		e.Attributes = &runtime.RawExtension{Raw: raw}
	}
	return json.Marshal(e)
}

// canonicalJSON sorts keys and drops space: an API server stores documents in its own
// way, and a hash must survive that.
func canonicalJSON(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return json.Marshal(v)
}
