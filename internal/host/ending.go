package host

import (
	"context"
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
