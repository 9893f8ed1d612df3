package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

const hashPrefix = "sha256-"

// Name is the name of the catalog that has these entries: the hash of their content,
// whatever way their JSON was written. Attributes that are no JSON are hashed as they
// are, so that they match no catalog that was compiled.
func Name(entries []v1alpha1.CatalogEntry) string {
	return hashOfAll(entryHashes(entries))
}

// Digest identifies what a node is told to be: its catalogs, its own entries, and what of
// these is withheld, whatever the reason.
func Digest(spec v1alpha1.NodeCatalogSpec) string {
	return digest(spec, entryHashes(spec.Entries))
}

func digest(spec v1alpha1.NodeCatalogSpec, entries []string) string {
	lines := make([]string, 0, len(spec.Catalogs)+len(entries)+len(spec.Withheld))
	for _, c := range spec.Catalogs {
		lines = append(lines, "catalog "+c.Name)
	}
	for _, hash := range entries {
		lines = append(lines, "entry "+hash)
	}
	for _, w := range spec.Withheld {
		lines = append(lines, "withheld "+string(w.Ref))
	}
	return hashOfAll(lines)
}

// entryHashes are the entries' own hashes, in their order.
func entryHashes(entries []v1alpha1.CatalogEntry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = entryHash(e)
	}
	return out
}

// hashOfAll makes one hash out of lines. A catalog's name and a node's digest are made of
// the hashes of entries instead of their text, because a fleet shares most entries
// and would otherwise hash each once a node.
func hashOfAll(lines []string) string {
	h := sha256.New()
	for _, s := range lines {
		_, _ = io.WriteString(h, s) // a hash accepts every write
		_, _ = io.WriteString(h, "\n")
	}
	return hashPrefix + hex.EncodeToString(h.Sum(nil))
}

// entryHash is that of an entry, whatever way its JSON was written.
func entryHash(e v1alpha1.CatalogEntry) string {
	attributes, err := canonicalAttributes(e)
	if err != nil {
		attributes = append([]byte(err.Error()), e.Attributes.Raw...)
	}
	hash, _ := measure(e, attributes)
	return hash
}

// measure is the hash of an entry with canonical attributes, and what it comes to as JSON
// in bytes. The attributes, nearly all of it, are hashed as they are and not encoded once
// more as part of the entry.
func measure(e v1alpha1.CatalogEntry, attributes []byte) (hash string, size int) {
	e.Attributes = nil
	text, err := json.Marshal(e)
	if err != nil { // words, numbers and lists of words: they encode
		text = []byte(e.Ref())
	}
	h := sha256.New()
	_, _ = h.Write(text) // a hash accepts every write
	_, _ = h.Write(attributes)
	return hex.EncodeToString(h.Sum(nil)), len(text) + len(`,"attributes":`) + len(attributes)
}

// canonicalAttributes is the one form that the attributes of an entry have for hashing.
func canonicalAttributes(e v1alpha1.CatalogEntry) ([]byte, error) {
	if e.Attributes == nil {
		return nil, nil
	}
	raw, err := canonicalJSON(e.Attributes.Raw)
	if err != nil {
		return nil, fmt.Errorf("cannot decode attributes of %s: %w", e.Ref(), err)
	}
	return raw, nil
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
