package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

// preRun asks every resource that has a say whether the run can take place, before
// anything is changed. One that says no fails, and ends the run: its context is what
// the rest is skipped by.
func (r *run) preRun(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var refs []resource.Ref
	for _, e := range r.entries {
		if e.Resource == nil || refusal(e.situation).Action != Keep {
			continue
		}
		if err := resource.Guarded(func() error { return e.Resource.PreRunCheck(ctx, r.reader) }); err != nil {
			e.situation.Invalid = fmt.Errorf("its check before the run failed: %w", err)
			refs = append(refs, e.Ref)
		}
	}
	if len(refs) > 0 {
		cancel(errors.New("some checks before the run failed: " + list(refs)))
	}
	return ctx, func() { cancel(nil) }
}
