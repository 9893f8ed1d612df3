package host_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/host"
)

func TestAReadEndsWithItsContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	r := host.EndingWith(ctx, strings.NewReader("first, second"))
	first := make([]byte, len("first"))
	if _, err := io.ReadFull(r, first); err != nil || string(first) != "first" {
		t.Errorf("it reads %q: %v", first, err)
	}
	cancel()
	if rest, err := io.ReadAll(r); !errors.Is(err, context.Canceled) || len(rest) > 0 {
		t.Errorf("it reads %q after the end: %v", rest, err)
	}
}
