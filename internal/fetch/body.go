package fetch

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

var (
	errSilent = errors.New("the server stopped sending")
	errSlow   = errors.New("the transfer takes too long")
)

// A body is a content in transfer. It is not safe for concurrent use.
type body struct {
	io.ReadCloser
	what    Request
	ctx     context.Context // lives as long as the transfer
	cancel  context.CancelCauseFunc
	silent  *time.Timer
	slow    *time.Timer
	silence time.Duration

	left      int64 // bytes that are still accepted
	most      int64
	announced map[string]string // sums, by algorithm
	hashes    map[string]hash.Hash
}

func newBody(ctx context.Context, cancel context.CancelCauseFunc, s *HTTP, what Request, res *http.Response) *body {
	b := &body{
		ReadCloser: res.Body, what: what, ctx: ctx, cancel: cancel, silence: s.silence,
		silent: time.AfterFunc(s.silence, func() { cancel(errSilent) }), slow: time.AfterFunc(s.limit, func() { cancel(errSlow) }),
		most: cmp.Or(what.MaxBytes, DefaultMaxBytes), announced: sums(res.Header), hashes: map[string]hash.Hash{},
	}
	b.left = b.most
	for algorithm := range b.announced {
		b.hashes[algorithm] = algorithms[algorithm]()
	}
	return b
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.silent.Reset(b.silence)
	for _, h := range b.hashes {
		_, _ = h.Write(p[:n]) // a hash accepts every write
	}
	switch b.left -= int64(n); {
	case b.left < 0:
		return 0, cannot(b.what, fmt.Errorf("it exceeds the limit of %d bytes", b.most))
	case errors.Is(err, io.EOF):
		return n, b.end()
	case err != nil:
		return n, cannot(b.what, cmp.Or(context.Cause(b.ctx), err))
	}
	return n, nil
}

// end returns io.EOF if the content matches the announced checksums.
func (b *body) end() error {
	for _, algorithm := range slices.Sorted(maps.Keys(b.announced)) {
		is, should := hex.EncodeToString(b.hashes[algorithm].Sum(nil)), b.announced[algorithm]
		if is != should {
			return cannot(b.what, fmt.Errorf("the server announced the checksum {%s}%s, but sent content with {%s}%s: discarding it", algorithm, should, algorithm, is))
		}
	}
	return io.EOF
}

func (b *body) Close() error {
	b.silent.Stop()
	b.slow.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
