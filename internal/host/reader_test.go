package host_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
)

func TestReadStopsWhenContextEnds(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	r := host.ContextReader(ctx, strings.NewReader("first, second"))
	first := make([]byte, len("first"))
	if _, err := io.ReadFull(r, first); err != nil || string(first) != "first" {
		t.Errorf("read %q: %v", first, err)
	}
	cancel()
	if rest, err := io.ReadAll(r); !errors.Is(err, context.Canceled) || len(rest) > 0 {
		t.Errorf("read %q after the end: %v", rest, err)
	}
}

// Zeros is a file that never stops growing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestEndlesslyGrowingFileIsRejected(t *testing.T) {
	t.Parallel()

	if n, err := io.Copy(io.Discard, host.BoundedReader(zeros{}, 1<<20)); !errors.Is(err, host.ErrGrows) || n > 66<<20 {
		t.Errorf("read %d bytes: %v", n, err)
	}
	if got, err := io.ReadAll(host.BoundedReader(strings.NewReader("it grew"), 2)); err != nil || string(got) != "it grew" {
		t.Errorf("read %q: %v", got, err)
	}
}
