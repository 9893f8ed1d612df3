// Package content reads the content of files in constant memory, and computes checksums and
// diffs of it.
package content

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/fettle-dev/fettle/internal/host"
)

// maxText is the maximum size in bytes of content retained as text, to be shown as a
// diff or as the present state. Of larger ones only the checksum is computed.
const maxText = 256 << 10

// A buffer has the bytes in memory while a checksum is computed.
type buffer [64 << 10]byte

// buffers are those that nobody uses.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

// forText returns room for a text of a size, and one byte more; if it is longer than maxText, for its beginning.
func (b *buffer) forText(size int64) []byte {
	if size < int64(len(b)) {
		return b[:size+1]
	}
	return make([]byte, min(size, maxText)+1)
}

// A Content is the content of a file, or its checksum.
type Content struct {
	Sum    string
	SHA256 string // the same as Sum, unless that is by another algorithm
	Size   int64
	Text   *string // nil if it is binary, larger than maxText or known
}

// Read reads a regular file of about size bytes in constant memory. The text of a content
// whose checksum is known is not returned.
func Read(ctx context.Context, open func() (io.ReadCloser, error), size int64, algorithm, known string) (c Content, err error) {
	f, err := open()
	if err != nil {
		return Content{}, fmt.Errorf("cannot read content: %w", err)
	}
	defer f.Close()
	hash, r := newDigests(algorithm), host.ContextReader(ctx, host.BoundedReader(f, size))
	buffer := buffers.Get().(*buffer)
	defer buffers.Put(buffer)
	head := buffer.forText(size)
	n, err := io.ReadFull(r, head)
	_, _ = hash.Write(head[:n])
	if c.Size = int64(n); err == nil {
		var rest int64
		rest, err = io.CopyBuffer(hash, r, make([]byte, len(buffer)))
		c.Size += rest
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Content{}, fmt.Errorf("cannot read content: %w", err)
	}
	c.Sum, c.SHA256 = hash.sums()
	if whole := c.Size == int64(n) && n <= maxText; whole && c.Sum != known && isText(head[:n]) {
		c.Text = new(string(head[:n]))
	}
	return c, nil
}

// digests are the checksum by one algorithm, and by SHA-256, by which secrets are
// recognized.
type digests struct {
	*Digest
	other *Digest // nil if the algorithm is SHA-256
}

func newDigests(algorithm string) digests {
	d := digests{Digest: NewDigest(algorithm)}
	if algorithm != DefaultAlgorithm {
		d.other = NewDigest(DefaultAlgorithm)
	}
	return d
}

func (d digests) Write(p []byte) (int, error) {
	if d.other != nil {
		_, _ = d.other.Write(p)
	}
	return d.Digest.Write(p)
}

// sums returns the checksum, and that by SHA-256.
func (d digests) sums() (sum, sha256 string) {
	sum = d.Sum()
	if d.other != nil {
		return sum, d.other.Sum()
	}
	return sum, sum
}

func isText(text []byte) bool { return utf8.Valid(text) && !bytes.ContainsRune(text, 0) }

// Diff returns the unified diff from the content of a file to another text.
func Diff(path string, old Content, text string) string {
	switch {
	case old.Text == nil && old.Size > maxText:
		return fmt.Sprintf("Files differ: the present content has %d bytes, too many for a diff\n", old.Size)
	case old.Text == nil || !isText([]byte(text)):
		return "Binary files differ\n"
	}
	lines := unified.Diff(path+" (present)", []byte(*old.Text), path+" (desired)", []byte(text))
	_, lines, _ = bytes.Cut(lines, []byte("\n")) // the line "diff present desired"
	return string(lines)
}
