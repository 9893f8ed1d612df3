package engine

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

// read reads the present state and compares it, unless the resource is refused.
func (r *run) read(ctx context.Context, e *entry) {
	if refusal(e.situation).Action != Keep || r.inherited(e) {
		return
	}
	r.readAhead(ctx, e)
	began := r.Now()
	if !e.fresh {
		e.situation.ReadError = r.fetch(ctx, e)
	}
	e.compare()
	r.audit(e)
	e.took += r.Now().Sub(began)
}

// compare holds what was read against what should be.
func (e *entry) compare() {
	if e.situation.ReadError != nil {
		return
	}
	e.looked = true
	e.comparison = e.Resource.Compare()
	e.situation.Changes = e.comparison.Changes
	e.report.OutOfSync = len(e.situation.Changes) > 0
}

// fetch reads one resource, or, where its provider can, all that are left of its
// kind and provider in one go.
func (r *run) fetch(ctx context.Context, e *entry) error {
	if !e.Resource.CanBatchRead() {
		return r.readOne(ctx, e)
	}
	if e.prefetch == nil {
		r.prefetch(ctx, e)
	}
	return e.prefetch
}

func (r *run) readOne(ctx context.Context, e *entry) error {
	err := resource.Guarded(func() error { return e.Resource.Read(ctx, r.reader) })
	if err != nil {
		return fmt.Errorf("cannot read the present state: %w", err)
	}
	e.fresh = true
	return nil
}

// prefetch reads all that are left. Its failure is that of every one of them, and
// of no other kind or provider.
func (r *run) prefetch(ctx context.Context, first *entry) {
	var group []*entry
	var all []resource.Resource
	for _, e := range r.entries {
		if e.done || e.Ref.Kind != first.Ref.Kind || refusal(e.situation).Action != Keep {
			continue
		}
		r.choose(e)
		if e.situation.NoProvider == nil && e.report.Provider == first.report.Provider && e.Resource.CanBatchRead() {
			group = append(group, e)
			all = append(all, e.Resource)
		}
	}
	err := resource.Guarded(func() error { return resource.ReadAll(ctx, r.reader, all) })
	for _, e := range group {
		e.fresh = err == nil
		if err != nil {
			e.prefetch = fmt.Errorf("prefetch failed for %s provider %s: %w", first.Ref.Kind, first.report.Provider, err)
		}
	}
}

// stale makes every state that was read ahead be read again: something was changed
// that changes more than itself.
func (r *run) stale() {
	for _, e := range r.entries {
		if !e.done {
			e.fresh = false
		}
	}
}
