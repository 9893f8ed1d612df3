package resource_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestOnce(t *testing.T) {
	reads := 0
	look := func(ctx context.Context, key any) int {
		t.Helper()
		n, err := resource.Once(ctx, key, func() (int, error) { reads++; return reads, nil })
		must(t, err)
		return n
	}
	calm := resource.Calm(t.Context())
	if a, b := look(calm, "users"), look(calm, "users"); a != 1 || b != 1 {
		t.Errorf("in one calm, reads gave %d and %d", a, b)
	}
	if n := look(calm, "groups"); n != 2 {
		t.Errorf("another key gave %d", n)
	}
	if n := look(resource.Calm(calm), "users"); n != 3 {
		t.Errorf("the next calm gave %d", n)
	}
	if a, b := look(t.Context(), "users"), look(t.Context(), "users"); a != 4 || b != 5 {
		t.Errorf("without calm, reads gave %d and %d", a, b)
	}
}

func TestOnceKeepsNoFailure(t *testing.T) {
	ctx := resource.Calm(t.Context())
	_, err := resource.Once(ctx, "users", func() (int, error) { return 0, errors.New("not yet") })
	wantError(t, err, "not yet")
	n, err := resource.Once(ctx, "users", func() (int, error) { return 7, nil })
	if must(t, err); n != 7 {
		t.Errorf("got %d", n)
	}
}
