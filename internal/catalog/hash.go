package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Name returns the name of the catalog that has these entries: the hash of their content. It ignores how their JSON
// is written, because API servers store it in their own way. Attributes that are not JSON are hashed as they are.
func Name(entries []v1alpha1.CatalogEntry) string {
	hashes, _ := entryHashes(entries)
	return NameOf(hashes)
}

// NameOf returns the name of the catalog whose entries have these hashes.
func NameOf(hashes []string) string { return hashOf(hashes) }

// Digest identifies the desired state of a node: its catalogs, its own entries, and the resources that are withheld,
// whatever the reason. The agent reports it as applied.
func Digest(spec v1alpha1.NodeCatalogSpec) string {
	hashes, _ := entryHashes(spec.Entries)
	return DigestOf(spec, hashes)
}

// DigestOf is [Digest] for a caller that knows the hashes of the spec's own entries.
func DigestOf(spec v1alpha1.NodeCatalogSpec, hashes []string) string {
	lines := make([]string, 0, len(spec.Catalogs)+len(hashes)+len(spec.Withheld))
	for _, c := range spec.Catalogs {
		lines = append(lines, "catalog "+c.Name)
	}
	for _, hash := range hashes {
		lines = append(lines, "entry "+hash)
	}
	for _, w := range spec.Withheld {
		lines = append(lines, "withheld "+string(w.Ref))
	}
	return hashOf(lines)
}

// SameEntries reports whether entries have the same content, however their JSON is written.
func SameEntries(a, b []v1alpha1.CatalogEntry) bool {
	if len(a) != len(b) {
		return false
	}
	if reflect.DeepEqual(a, b) { // far cheaper than hashing, and the common case
		return true
	}
	is, errA := entryHashes(a)
	other, errB := entryHashes(b)
	return errA == nil && errB == nil && slices.Equal(is, other)
}

// Encode returns attributes as JSON in the canonical form that [Measure] requires: sorted keys, no space.
func Encode(attributes any) (*runtime.RawExtension, error) {
	raw, err := json.Marshal(attributes)
	if err == nil {
		raw, err = canonical(raw)
	}
	if err != nil {
		return nil, err
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// Measure returns the hash of an entry whose attributes are in canonical form, and its size as JSON in bytes. Both cover the whole entry.
func Measure(e v1alpha1.CatalogEntry) (hash string, size int) {
	var attributes []byte
	if e.Attributes != nil {
		attributes, e.Attributes = e.Attributes.Raw, nil
	}
	text, _ := json.Marshal(e) // without attributes, it consists of types that always encode
	h := sha256.New()
	_, _ = h.Write(text) // a hash accepts every write
	_, _ = h.Write(attributes)
	return hex.EncodeToString(h.Sum(nil)), len(text) + len(`,"attributes":`) + len(attributes)
}

// entryHashes returns the hash of each entry. The error is an *InvalidCatalogError that names the first entry whose
// attributes are not JSON; these are hashed as they are, so that they match no entry that was compiled.
func entryHashes(entries []v1alpha1.CatalogEntry) (hashes []string, failed error) {
	hashes = make([]string, len(entries))
	for i, e := range entries {
		if e.Attributes != nil {
			raw, err := canonical(e.Attributes.Raw)
			if err != nil {
				raw = append([]byte(err.Error()), e.Attributes.Raw...)
				failed = cmp.Or(failed, fmt.Errorf("cannot decode attributes of %s: %w", e.Ref(), err))
			}
			e.Attributes = &runtime.RawExtension{Raw: raw}
		}
		hashes[i], _ = Measure(e)
	}
	return hashes, failed
}

// hashOf hashes lines. Names and digests are hashes of the entries' hashes rather than of their text, because nodes
// share most entries.
func hashOf(lines []string) string {
	h := sha256.New()
	for _, s := range lines {
		_, _ = io.WriteString(h, s) // a hash accepts every write
		_, _ = io.WriteString(h, "\n")
	}
	return "sha256-" + hex.EncodeToString(h.Sum(nil))
}

// canonical sorts keys and removes space.
func canonical(raw []byte) ([]byte, error) {
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
