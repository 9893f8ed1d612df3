package file

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"strings"
)

// What checksum can say beside the names of algorithms.
const (
	sumDefault  = "sha256"
	sumModified = "mtime"
	sumNone     = "none"
)

// liteBytes is how much of a content the lite algorithms look at.
const liteBytes = 512

// newDigest is nil for what is no algorithm.
func newDigest(algorithm string) *digest {
	d := &digest{left: -1}
	plain, lite := strings.CutSuffix(algorithm, "lite")
	if lite {
		d.left = liteBytes
	}
	switch plain {
	case "sha256":
		d.hash = sha256.New()
	case "sha1":
		d.hash = sha1.New()
	case "md5":
		d.hash = md5.New()
	}
	if !lite && d.hash == nil {
		d.hash = newLong(algorithm)
	}
	if d.hash == nil {
		return nil
	}
	return d
}

// newLong makes the algorithms that have no lite form.
func newLong(algorithm string) hash.Hash {
	switch algorithm {
	case "sha224":
		return sha256.New224()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// A digest sums up what is written to it, or the beginning of it.
type digest struct {
	hash hash.Hash
	left int // bytes still to be looked at; below 0 all
}

func (d *digest) Write(p []byte) (int, error) {
	part := p
	if d.left >= 0 {
		part = p[:min(len(p), d.left)]
		d.left -= len(part)
	}
	d.hash.Write(part)
	return len(p), nil
}

func (d *digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// digits is how long a sum is, in hexadecimal digits; 0 for what has none.
func digits(algorithm string) int {
	if d := newDigest(algorithm); d != nil {
		return 2 * d.hash.Size()
	}
	return 0
}
