package resource_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestTogether(t *testing.T) {
	var running, most atomic.Int64
	errs := resource.Together(100, 4, func(i int) error {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		switch {
		case i == 50:
			panic("oh")
		case i%2 == 1:
			return errors.New(fmt.Sprint(i))
		}
		return nil
	})
	for i, err := range errs {
		switch {
		case i == 50:
			wantError(t, err, "the provider panicked (a bug in the provider): oh")
		case i%2 == 1:
			wantError(t, err, fmt.Sprint(i))
		case err != nil:
			t.Errorf("%d: %v", i, err)
		}
	}
	if len(errs) != 100 || most.Load() > 4 {
		t.Errorf("%d errors, %d at once", len(errs), most.Load())
	}
	if errs := resource.Together(0, 4, nil); len(errs) != 0 {
		t.Errorf("none gave %v", errs)
	}
}
