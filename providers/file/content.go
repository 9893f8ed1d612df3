package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/fettle-dev/fettle/internal/host"
)

// maxText is the largest content, in bytes, that is kept to be shown as a diff or
// as the present state. Larger ones are only summed up.
const maxText = 256 << 10

// maxBuffer is how much of a file is in memory while it is summed up.
const maxBuffer = 64 << 10

// maxUnequal is the largest content, in bytes, that is summed up although its size alone
// tells that it is another one than the desired. A user can make a sparse file of any size.
const maxUnequal = 16 << 20

// A content is what was read of a file.
type content struct {
	sum    string
	sha256 string // the same as sum, unless that is by another algorithm
	size   int64
	text   *string // nil if it is binary, larger than maxText or known
}

// readContent reads a regular file of about this size, in bytes, in constant memory.
// how is the algorithm of its sum; known is a sum whose content nobody needs to see.
func readContent(ctx context.Context, open func() (io.ReadCloser, error), size int64, how, known string) (c content, err error) {
	f, err := open()
	if err != nil {
		return content{}, fmt.Errorf("cannot read content: %w", err)
	}
	defer f.Close()
	hash, r := sumsBy(how), host.EndingWith(ctx, host.NoLongerThan(f, size))
	head := make([]byte, min(size, maxText)+1)
	n, err := io.ReadFull(r, head)
	_, _ = hash.Write(head[:n]) // a hash accepts every write
	if c.size = int64(n); err == nil {
		var rest int64
		rest, err = io.CopyBuffer(hash, r, make([]byte, maxBuffer))
		c.size += rest
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return content{}, fmt.Errorf("cannot read content: %w", err)
	}
	c.sum, c.sha256 = hash.sum(), hash.sha256()
	if whole := c.size == int64(n) && n <= maxText; whole && c.sum != known && isText(head[:n]) {
		c.text = new(string(head[:n]))
	}
	return c, nil
}

// sums are the sum of a content by one algorithm, and by SHA-256, by which secrets are
// recognized.
type sums struct {
	*digest
	other *digest // nil where the one algorithm is SHA-256
}

func sumsBy(how string) sums {
	s := sums{digest: newDigest(how)}
	if how != sumDefault {
		s.other = newDigest(sumDefault)
	}
	return s
}

func (s sums) Write(p []byte) (int, error) {
	if s.other != nil {
		_, _ = s.other.Write(p) // a hash accepts every write
	}
	return s.digest.Write(p)
}

func (s sums) sha256() string {
	if s.other != nil {
		return s.other.sum()
	}
	return s.sum()
}

func isText(text []byte) bool { return utf8.Valid(text) && !bytes.ContainsRune(text, 0) }

func checksum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// diff is the unified diff from one content to the other, "" where there is none to
// show.
func diff(is, want Attributes) string {
	text := want.Content
	if text == nil {
		text = is.found.origin.text
	}
	switch {
	case discreet(want) || is.found.what != regular:
		return ""
	case text == nil:
		return "" // the new content is yet to come
	case is.Content == nil && is.found.size > maxText:
		return fmt.Sprintf("Files differ: the old one has %d bytes, too many for a diff\n", is.found.size)
	case is.Content == nil || !isText([]byte(*text)):
		return "Binary files differ\n"
	}
	lines := unified.Diff(is.Path+" (present)", []byte(*is.Content), is.Path+" (desired)", []byte(*text))
	_, lines, _ = bytes.Cut(lines, []byte("\n")) // the command that would have made it
	return string(lines)
}
