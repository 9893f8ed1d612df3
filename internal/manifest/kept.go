package manifest

import (
	"crypto/sha256"
	"encoding/binary"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// kept is one object of a document, as the cache has it: as CBOR, which decodes several times
// as fast as JSON. It is made of what was written, so that an empty list stays one.
type kept struct {
	kind, path []byte
	line       uint64 // from that of the document
	body       []byte
}

// append adds the object to a text that first reads.
func (k kept) append(to []byte) []byte {
	to = binary.AppendUvarint(to, k.line)
	for _, field := range [][]byte{k.kind, k.path, k.body} {
		to = append(binary.AppendUvarint(to, uint64(len(field))), field...)
	}
	return to
}

// first takes the first object off a text.
func first(text []byte) (k kept, rest []byte, ok bool) {
	line, n := binary.Uvarint(text)
	if n <= 0 {
		return k, nil, false
	}
	k.line, rest = line, text[n:]
	for _, field := range []*[]byte{&k.kind, &k.path, &k.body} {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return k, nil, false
		}
		*field, rest = rest[n:n+int(size)], rest[n+int(size):]
	}
	return k, rest, true
}

// keep adds an object to what the cache is to have of the document in hand.
func (b *batch) keep(o object, kind string) {
	if b.uncached {
		return
	}
	var tree map[string]any
	err := json.UnmarshalCaseSensitivePreserveInts(o.raw, &tree)
	delete(tree, "status")
	body, encoding := direct.Marshal(tree)
	if err != nil || encoding != nil {
		b.uncached = true
		return
	}
	b.encoded = kept{[]byte(kind), []byte(o.path), uint64(b.line(o) - o.line), body}.append(b.encoded)
}

// restore adds what the cache has of a document.
func (b *batch) restore(p part, hash [sha256.Size]byte) bool {
	text, e, ok := b.cache.open(hash, b.scratch)
	if !ok {
		return false
	}
	b.scratch = text
	documents, configMaps := len(b.Documents), len(b.ConfigMaps)
	for len(text) > 0 && ok {
		var k kept
		if k, text, ok = first(text); ok {
			ok = b.restoreObject(p, k)
		}
	}
	if !ok {
		b.Documents, b.ConfigMaps = b.Documents[:documents], b.ConfigMaps[:configMaps]
		return false
	}
	b.entries = append(b.entries, e)
	return true
}

func (b *batch) restoreObject(p part, k kept) bool {
	var into metav1.Object
	if kind := string(k.kind); kind == "ConfigMap" {
		c := &corev1.ConfigMap{}
		into, b.ConfigMaps = c, append(b.ConfigMaps, c)
	} else {
		r := v1alpha1.NewResource(kind)
		if r == nil {
			return false
		}
		into, b.Documents = r, append(b.Documents, Document{p.line + int(k.line), p.file, string(k.path), r})
	}
	return direct.Unmarshal(k.body, into) == nil
}
