package host

import (
	"context"
	"fmt"
	"io"
)

// ContextReader returns a reader of r that fails once ctx has ended. It has only the Read of r, so that
// [io.Copy] goes through it for every piece.
func ContextReader(ctx context.Context, r io.Reader) io.Reader {
	return contextReader{ctx, r}
}

type contextReader struct {
	ctx context.Context // lives as long as the read
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// growth is how much a file may grow while it is read, in bytes.
const growth = 64 << 20

// ErrGrows is the error of reading a file that grows without end.
var ErrGrows = fmt.Errorf("it grows by more than %d MiB while it is read: find out what writes to it", growth>>20)

// MaxContent is the size in bytes of the largest file whose content is read. A user can make a sparse file of any size
// in a moment.
const MaxContent = 16 << 30

// BoundedReader returns a reader of r, a file of this size in bytes. It fails at once if that is more than [MaxContent], and
// with [ErrGrows] if the file turns out much larger: its owner can make it grow without end while it is read.
func BoundedReader(r io.Reader, size int64) io.Reader {
	if size > MaxContent {
		return tooLarge(size)
	}
	return &sizedReader{r, size + growth}
}

// tooLarge is the size of a file that is not read.
type tooLarge int64

func (t tooLarge) Read([]byte) (int, error) {
	return 0, fmt.Errorf("it has %d bytes, and the content of at most %d GiB is read: compare it by checksum: mtime, "+
		"audit mtime instead of content, or remove the file", int64(t), MaxContent>>30)
}

type sizedReader struct {
	r    io.Reader
	left int64
}

func (s *sizedReader) Read(p []byte) (int, error) {
	if s.left < 0 {
		return 0, ErrGrows
	}
	n, err := s.r.Read(p)
	s.left -= int64(n)
	return n, err
}
