package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
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
		cancel(errors.New("some checks before the run failed: " + text.List(refs)))
	}
	return ctx, func() { cancel(nil) }
}

// recordSecrets has the host know the secrets of all resources, whether or not they have a
// turn: later runs must not show them. Where that fails, the resources that have them fail.
func (r *run) recordSecrets(ctx context.Context) {
	if r.Noop {
		return
	}
	carriers := map[string][]*entry{}
	for _, e := range r.entries {
		if e.Resource != nil && e.Resource.HasSecret() {
			carriers[e.Ref.Kind] = append(carriers[e.Ref.Kind], e)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(carriers)) {
		var all []resource.Resource
		for _, e := range carriers[kind] {
			all = append(all, e.Resource)
		}
		err := resource.Guarded(func() error { return bound.RecordSecrets(ctx, r.call().Writer(r.Host), all) })
		for _, e := range carriers[kind] {
			e.situation.Invalid = errors.Join(e.situation.Invalid, err)
		}
	}
}
