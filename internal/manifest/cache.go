package manifest

import (
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/fettle-dev/fettle/config/crd"
)

// A Store has files that may be lost.
type Store interface {
	Load(name string) ([]byte, error)
	Store(name string, text []byte) error
}

// A Cache has decoded documents that are valid, so that they need not be parsed and
// validated again. Only speed depends on it: entries that are missing, damaged or of another
// version of the program are ignored.
//
// An entry is named by one half of its document's hash and encrypted with the other, so that
// only someone who has the document can read it. A nil cache is always empty. Reading
// is safe for concurrent use.
type Cache struct {
	store   Store
	name    string
	version []byte
	found   map[[idSize]byte][]byte
	used    []entry // of the documents read so far, in order
	fresh   int     // number of these that were not in the cache
}

// An entry is a document in the cache.
type entry struct {
	id     [idSize]byte
	sealed []byte
	fresh  bool
}

const idSize = sha256.Size / 2

// OpenCache opens the cache for a list of names, usually of files and directories.
func OpenCache(store Store, names []string) *Cache {
	c := &Cache{store: store, name: cacheName(names), version: cacheVersion(), found: map[[idSize]byte][]byte{}}
	text, err := store.Load(c.name)
	if err != nil {
		return c
	}
	for len(text) >= idSize+4 {
		size := int64(binary.LittleEndian.Uint32(text[idSize:]))
		rest := text[idSize+4:]
		if size > int64(len(rest)) {
			break
		}
		c.found[[idSize]byte(text)] = rest[:size:size]
		text = rest[size:]
	}
	return c
}

// cacheName makes paths absolute: they differ between working directories.
func cacheName(names []string) string {
	h := sha256.New()
	for _, name := range names {
		if abs, err := filepath.Abs(name); err == nil {
			name = abs
		}
		_, _ = io.WriteString(h, name+"\x00") // a hash accepts every write
	}
	return hex.EncodeToString(h.Sum(nil)[:idSize])
}

// cacheVersion changes with everything that affects decoding and validation: the program, its libraries and the
// CRDs.
var cacheVersion = sync.OnceValue(func() []byte {
	h := sha256.New()
	if info, ok := debug.ReadBuildInfo(); ok {
		_, _ = io.WriteString(h, info.String())
	}
	_, _ = h.Write(crd.Digest())
	return h.Sum(nil)
})

// keys returns the name of a document's entry and its cipher. Each document has its own key.
// ChaCha20-Poly1305, unlike AES, has no key schedule to compute.
func (c *Cache) keys(hash [sha256.Size]byte) (id [idSize]byte, seal cipher.AEAD) {
	h := sha512.Sum512(append(slices.Clip(c.version), hash[:]...))
	seal, err := chacha20poly1305.New(h[sha512.Size-chacha20poly1305.KeySize:])
	if err != nil { // never: the key has the right size
		panic(err)
	}
	return [idSize]byte(h[:]), seal
}

// The nonce is constant, because no key encrypts two texts.
var nonce [chacha20poly1305.NonceSize]byte

func (c *Cache) seal(hash [sha256.Size]byte, text []byte) entry {
	id, seal := c.keys(hash)
	return entry{id, seal.Seal(nil, nonce[:], text, nil), true}
}

// open returns the entry of a document, in the memory of into if that is large enough.
func (c *Cache) open(hash [sha256.Size]byte, into []byte) (text []byte, e entry, ok bool) {
	if c == nil || len(c.found) == 0 {
		return nil, e, false
	}
	id, seal := c.keys(hash)
	sealed, ok := c.found[id]
	if !ok {
		return nil, e, false
	}
	text, err := seal.Open(into[:0], nonce[:], sealed, nil)
	return text, entry{id, sealed, false}, err == nil
}

// add adds entries for the next Save.
func (c *Cache) add(entries []entry) {
	if c == nil {
		return
	}
	for _, e := range entries {
		if e.fresh {
			c.fresh++
		}
	}
	c.used = append(c.used, entries...)
}

// Save saves exactly the documents that were read with the cache. It writes nothing if they have not changed.
func (c *Cache) Save() error {
	size := 0
	for _, e := range c.used {
		size += idSize + 4 + len(e.sealed)
	}
	if c.fresh == 0 && len(c.used) >= len(c.found) {
		return nil
	}
	text := make([]byte, 0, size)
	for _, e := range c.used {
		text = append(text, e.id[:]...)
		text = binary.LittleEndian.AppendUint32(text, uint32(len(e.sealed)))
		text = append(text, e.sealed...)
	}
	return c.store.Store(c.name, text)
}
