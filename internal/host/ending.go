package host

import (
	"context"
	"fmt"
	"io"
)

// EndingWith reads what r has until ctx is over: a long read ends with its context, at the
// next piece. Of r it has Read alone, so that [io.Copy] sees every piece.
func EndingWith(ctx context.Context, r io.Reader) io.Reader {
	return contextReader{ctx, r}
}

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

// growth is how much a file may grow while it is read, in bytes.
const growth = 64 << 20

// ErrGrows is the error of reading a file that grows without end.
var ErrGrows = fmt.Errorf("it grows by more than %d MiB while it is read: find out what writes to it", growth>>20)

// NoLongerThan reads what r has, a file that has this size in bytes, or fails with [ErrGrows]
// where that is much more. Anyone who may write to a file can make it any size while it is read.
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
