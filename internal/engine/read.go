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
	if !r.holds(e) {
		r.fetch(ctx, e)
	}
	e.situation.ReadError = e.readErr
	if e.readErr != nil {
		r.await(e)
	}
	r.compare(e)
	r.audit(e)
	e.took += r.Now().Sub(began)
}

// compare holds what was read against what should be.
func (r *run) compare(e *entry) {
	if e.situation.ReadError != nil {
		return
	}
	e.looked = true
	r.compareAgain(e)
	e.situation.Changes = e.comparison.Changes
	e.report.OutOfSync = len(e.situation.Changes) > 0
}

// compareAgain is compare for what is not to change what is decided.
func (r *run) compareAgain(e *entry) {
	e.comparison = e.Resource.Compare()
	r.trace(e)
}

// fetch reads one resource, or, where its provider can, all that are left of its
// kind and provider in one go.
func (r *run) fetch(ctx context.Context, e *entry) {
	if e.Resource.CanBatchRead() {
		r.prefetch(ctx, e)
		return
	}
	_ = r.readOne(ctx, r.reader, e) // e keeps it
}

func (r *run) readOne(ctx context.Context, h resource.Reader, e *entry) error {
	return r.note(e, resource.Guarded(func() error { return e.Resource.Read(ctx, h) }))
}

// note keeps when a resource was read and with what error, which it returns.
func (r *run) note(e *entry, err error) error {
	if err != nil {
		err = fmt.Errorf("cannot read the present state: %w", err)
	}
	e.readErr, e.readAt = err, r.writes+1
	return err
}

// holds reports whether what was read of a resource, or why it could not be, is still
// true. An error and what was read ahead are so until anything is written. What was read
// with others of its kind outlives writes, but not those of what it comes after, nor any
// with side effects.
func (r *run) holds(e *entry) bool {
	switch {
	case e.readErr != nil:
		return e.Resource.CanBatchRead() && e.readAt == r.writes+1
	case e.Resource.CanReadAhead():
		return e.readAt == r.writes+1
	}
	return e.readAt > max(r.lastEffect(), r.writtenBefore(e))
}

// lastEffect is the last write with side effects.
func (r *run) lastEffect() int {
	if len(r.effects) == 0 {
		return 0
	}
	return r.effects[len(r.effects)-1].at
}

// writtenBefore is the last write of what a resource comes after.
func (r *run) writtenBefore(e *entry) int {
	last := 0
	for _, n := range r.plan.before[e.node] {
		last = max(last, r.entries[n].writtenAt)
	}
	return last
}

// prefetch reads a resource and all of its kind and provider that have not been read.
// Each keeps its own error.
func (r *run) prefetch(ctx context.Context, first *entry) {
	var group []*entry
	for _, e := range r.entries {
		if e == first || r.prefetches(first, e) {
			group = append(group, e)
		}
	}
	_ = r.readAllOf(ctx, group) // each keeps its own
}

// prefetches reports whether a resource is to be read along with the first.
func (r *run) prefetches(first, e *entry) bool {
	if e.done || e.Ref.Kind != first.Ref.Kind || refusal(e.situation).Action != Keep {
		return false
	}
	r.choose(e)
	return e.situation.NoProvider == nil && e.report.Provider == first.report.Provider && e.Resource.CanBatchRead() && !r.holds(e)
}

// wrote notes that a resource was just changed or refreshed.
func (r *run) wrote(e *entry) {
	e.writtenAt = r.writes
	if e.Resource.SideEffects() {
		r.effects = append(r.effects, sideEffect{r.writes, e})
	}
}
