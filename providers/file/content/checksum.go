package content

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// Values of checksum beside the names of digest algorithms.
const (
	DefaultAlgorithm = "sha256"
	ByTime           = "mtime"
	ByNothing        = "none"
)

// liteBytes is the number of bytes that the lite algorithms read.
const liteBytes = 512

// A Digest is the checksum of the bytes written to it, or of their beginning.
type Digest struct {
	hash hash.Hash
	left int // bytes still to be hashed; negative for all
}

// NewDigest returns nil for an unknown algorithm.
func NewDigest(algorithm string) *Digest {
	d := &Digest{left: -1}
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

// newLong returns the algorithms that have no lite form.
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

// Write implements [io.Writer]. It never fails.
func (d *Digest) Write(p []byte) (int, error) {
	part := p
	if d.left >= 0 {
		part = p[:min(len(p), d.left)]
		d.left -= len(part)
	}
	d.hash.Write(part)
	return len(p), nil
}

// Sum returns the checksum in hexadecimal.
func (d *Digest) Sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// Digits returns the length of a checksum in hexadecimal digits; 0 for an unknown algorithm.
func Digits(algorithm string) int {
	if d := NewDigest(algorithm); d != nil {
		return 2 * d.hash.Size()
	}
	return 0
}

// SHA256 returns the SHA-256 of a text in hexadecimal.
func SHA256(text string) string {
	digest, buffer := NewDigest(DefaultAlgorithm), buffers.Get().(*buffer)
	defer buffers.Put(buffer)
	for len(text) > 0 {
		n := copy(buffer[:], text)
		_, _ = digest.Write(buffer[:n])
		text = text[n:]
	}
	return digest.Sum()
}

// Verify returns a stream that ends in an error instead of [io.EOF] if the checksum of body is
// not sum. expectation follows in the error, as "and checksumValue is ...".
func Verify(body io.ReadCloser, algorithm, sum, expectation string) io.ReadCloser {
	return &verified{body, NewDigest(algorithm), algorithm, sum, expectation}
}

type verified struct {
	io.ReadCloser
	digest                      *Digest
	algorithm, sum, expectation string
}

func (v *verified) Read(b []byte) (int, error) {
	n, err := v.ReadCloser.Read(b)
	_, _ = v.digest.Write(b[:n])
	if errors.Is(err, io.EOF) && v.digest.Sum() != v.sum {
		err = fmt.Errorf("the source has the checksum {%s}%s, %s: its content was discarded", v.algorithm, v.digest.Sum(), v.expectation)
	}
	return n, err
}
