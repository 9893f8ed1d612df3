package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/fettle-dev/fettle/internal/host"
)

// maxText is the largest content, in bytes, that is kept to be shown as a diff or
// as the present state. Larger ones are only summed up.
const maxText = 256 << 10

// maxBuffer is how much of a file is in memory while it is summed up.
const maxBuffer = 64 << 10

// A content is what was read of a file.
type content struct {
	sum  string
	size int64
	text *string // nil if it is binary or larger than maxText
}

// readContent reads a regular file in constant memory. size is the one expected, how
// the algorithm of its sum.
func readContent(ctx context.Context, h host.Reader, path string, size int64, how string) (c content, err error) {
	f, err := h.Open(path)
	if err != nil {
		return content{}, fmt.Errorf("cannot read content: %w", err)
	}
	defer f.Close()
	hash, text := newDigest(how), &head{}
	buffer := make([]byte, min(size+1, maxBuffer))
	c.size, err = io.CopyBuffer(io.MultiWriter(hash, text), contextReader{ctx, f}, buffer)
	if err != nil {
		return content{}, fmt.Errorf("cannot read content: %w", err)
	}
	c.sum = hash.sum()
	if s := text.kept.String(); c.size <= maxText && isText(s) {
		c.text = &s
	}
	return c, nil
}

// A head keeps the first maxText bytes that are written to it.
type head struct{ kept bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.kept.Write(p[:min(len(p), maxText-h.kept.Len())])
	return len(p), nil
}

// A contextReader ends a long read with its context.
type contextReader struct {
	ctx context.Context // lives as long as one read
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

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
	case want.ShowDiff != nil && !*want.ShowDiff || is.found.what != regular:
		return ""
	case text == nil:
		return "" // the new content is yet to come
	case is.Content == nil && is.found.size > maxText:
		return fmt.Sprintf("Files differ: the old one has %d bytes, too many for a diff\n", is.found.size)
	case is.Content == nil || !isText(*text):
		return "Binary files differ\n"
	}
	lines := unified.Diff(is.Path+" (present)", []byte(*is.Content), is.Path+" (desired)", []byte(*text))
	_, lines, _ = bytes.Cut(lines, []byte("\n")) // the command that would have made it
	return string(lines)
}
