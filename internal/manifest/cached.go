package manifest

import (
	"crypto/sha256"
	"encoding/binary"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A cachedObject is one object of a document in the cache: as CBOR, which decodes several times
// as fast as JSON. It is encoded from the tree of values rather than from the Go type, so that an empty list stays one.
type cachedObject struct {
	kind, path []byte
	line       uint64 // relative to the document
	body       []byte
}

// append encodes the object for first.
func (k cachedObject) append(to []byte) []byte {
	to = binary.AppendUvarint(to, k.line)
	for _, field := range [][]byte{k.kind, k.path, k.body} {
		to = append(binary.AppendUvarint(to, uint64(len(field))), field...)
	}
	return to
}

// first decodes the first object.
func first(text []byte) (k cachedObject, rest []byte, ok bool) {
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

// A recording is the part of a batch that reads and fills the cache. The zero value has no cache.
type recording struct {
	cache   *Cache
	entries []entry // of the documents so far
	objects []byte  // of the current document, encoded
	skipped bool    // the current document does not go into the cache
	scratch []byte  // memory for decrypted entries
}

// begin begins a document.
func (r *recording) begin() { r.objects, r.skipped = nil, r.cache == nil }

// skip leaves the current document out of the cache.
func (r *recording) skip() { r.skipped = true }

// add adds an object, without its status, to the entry of the current document. line returns the line of an object in its file.
func (r *recording) add(o object, kind string, tree map[string]any, line func(object) int) {
	if r.skipped || r.cache == nil {
		return
	}
	body, err := direct.Marshal(tree)
	if err != nil {
		r.skip()
		return
	}
	r.objects = cachedObject{[]byte(kind), []byte(o.path), uint64(line(o) - o.line), body}.append(r.objects)
}

// end adds the entry of the current document.
func (r *recording) end(hash [sha256.Size]byte) {
	if !r.skipped {
		r.entries = append(r.entries, r.cache.seal(hash, r.objects))
	}
}

// restore adds the objects of a document from the cache.
func (b *batch) restore(p part, hash [sha256.Size]byte) bool {
	text, e, ok := b.cached.cache.open(hash, b.cached.scratch)
	if !ok {
		return false
	}
	b.cached.scratch = text
	documents, configMaps := len(b.Documents), len(b.ConfigMaps)
	for len(text) > 0 && ok {
		var k cachedObject
		if k, text, ok = first(text); ok {
			ok = b.restoreObject(p, k)
		}
	}
	if !ok {
		b.Documents, b.ConfigMaps = b.Documents[:documents], b.ConfigMaps[:configMaps]
		return false
	}
	b.cached.entries = append(b.cached.entries, e)
	return true
}

func (b *batch) restoreObject(p part, k cachedObject) bool {
	var into metav1.Object
	if kind := string(k.kind); kind == "ConfigMap" {
		c := &corev1.ConfigMap{}
		into, b.ConfigMaps = c, append(b.ConfigMaps, c)
	} else {
		r := v1alpha1.NewResource(kind)
		if r == nil {
			return false
		}
		into, b.Documents = r, append(b.Documents, Document{p.line + int(k.line), p.file, string(k.path), r, p.text, p.line})
	}
	return direct.Unmarshal(k.body, into) == nil
}
