package host

import (
	"context"
	"fmt"
	"io"
)

// EndingWith returns a reader of r that fails once ctx has ended. It has only the Read of r, so that
// [io.Copy] goes through it for every piece.
func EndingWith(ctx context.Context, r io.Reader) io.Reader {
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

// NoLongerThan returns a reader of r, a file of this size in bytes. It fails with [ErrGrows] if the file turns out
// much larger: its owner can make it grow without end while it is read.
func NoLongerThan(r io.Reader, size int64) io.Reader { return &sizedReader{r, size + growth} }

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
