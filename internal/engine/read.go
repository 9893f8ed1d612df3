package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/audit"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/text"
)

// read reads the present state and compares it, unless the resource is refused.
func (r *run) read(ctx context.Context, e *entry) {
	if decide.Refusal(e.situation).Action != decide.Keep || r.claimTakenOver(e) {
		return
	}
	r.readAhead(ctx, e)
	began := r.Now()
	if !r.isFresh(e) {
		r.readState(ctx, e)
	}
	e.situation.ReadError = e.readErr
	if e.readErr != nil {
		r.noteAppliedFirst(e)
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
	e.compared = true
	r.compareState(e)
	e.situation.Changes = e.comparison.Changes
	e.report.OutOfSync = len(e.situation.Changes) > 0
}

// compareAgain is compare for what is not to change what is decided.
func (r *run) compareState(e *entry) {
	e.comparison = e.Resource.Compare()
	r.trace(e)
}

// maxTraced is the length, in bytes, of the longest value in a trace.
const maxTraced = 200

// trace describes the state of a resource that was just compared.
func (r *run) trace(e *entry) {
	if r.Trace == nil {
		return
	}
	for _, s := range e.Resource.PropertyStates() {
		r.Trace(stateLine(e.Ref, s))
	}
}

// stateLine is a property in one line: its current value, the normalized one where that is
// another, and the target.
func stateLine(ref resource.Ref, s resource.PropertyState) string {
	current := clipped(s.Current)
	if s.Normalized != s.Current {
		current += ", normalized " + clipped(s.Normalized)
	}
	return fmt.Sprintf("%s: %s: current %s, target %s", ref, s.Property, current, clipped(s.Target))
}

func clipped(value string) string { return text.Clip(cmp.Or(value, resource.Absent), maxTraced) }

// audit reports what has changed of the audited properties since a run last saw them.
// Who is notified by the resource hears of it. What the run itself changes later is no
// news to it.
func (r *run) audit(e *entry) {
	if !e.Audit || e.situation.ReadError != nil {
		return
	}
	events := audit.Events(r.Store.Audited(e.thing), e.Resource.Audited(r.Store.Key()))
	e.report.Events = append(e.report.Events, events...)
	if audit.FoundChange(events) && !r.remembersNothing(e) {
		if err := r.armRefreshes([]*entry{e}); err != nil {
			e.fail(err)
		}
	}
}

// fetch reads one resource, or, where its provider can, all that are left of its
// kind and provider in one go.
func (r *run) readState(ctx context.Context, e *entry) {
	if e.Resource.Abilities().BatchRead {
		r.prefetch(ctx, e)
		return
	}
	_ = r.readOne(ctx, r.reader, e) // e keeps it
}

func (r *run) readOne(ctx context.Context, h resource.Reader, e *entry) error {
	return r.recordRead(e, resource.Guarded(func() error { return e.Resource.Read(ctx, h) }))
}

// note keeps when a resource was read and with what error, which it returns.
func (r *run) recordRead(e *entry, err error) error {
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
func (r *run) isFresh(e *entry) bool {
	switch {
	case e.readErr != nil:
		return e.Resource.Abilities().BatchRead && e.readAt == r.writes+1
	case e.Resource.Traits().ReadAhead:
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
	for _, n := range r.plan.Before[e.node] {
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
	if e.done || e.Ref.Kind != first.Ref.Kind || decide.Refusal(e.situation).Action != decide.Keep {
		return false
	}
	r.choose(e)
	return e.situation.NoProvider == nil && e.report.Provider == first.report.Provider && e.Resource.Abilities().BatchRead && !r.isFresh(e)
}

// readAllOf reads resources of one kind and provider, in one go where that is possible. The
// errors are parallel to them.
func (r *run) readAllOf(ctx context.Context, group []*entry) []error {
	if !group[0].Resource.Abilities().BatchRead {
		return r.readTogether(ctx, group)
	}
	all := make([]resource.Resource, len(group))
	for i, e := range group {
		all[i] = e.Resource
	}
	errs := bound.ReadAll(ctx, r.reader, all)
	for i, err := range errs {
		errs[i] = r.recordRead(group[i], err)
	}
	return errs
}

// readTogether reads resources of one kind while nothing is written: next to each other,
// where that is possible. The errors are parallel to them.
func (r *run) readTogether(ctx context.Context, all []*entry) []error {
	workers := 1
	if len(all) > 0 && all[0].Resource.Traits().ReadAhead {
		workers = runtime.GOMAXPROCS(0)
	}
	h := r.sharedReader()
	return resource.Together(len(all), workers, func(i int) error { return r.readOne(ctx, h, all[i]) })
}

// readAhead reads a resource and some of those that come later in the catalog. What can't
// be read is read again at its turn, to fail then.
func (r *run) readAhead(ctx context.Context, first *entry) {
	if r.isFresh(first) || !first.Resource.Traits().ReadAhead {
		return
	}
	r.readahead.Grow()
	window := []*entry{first}
	for _, e := range r.entries[first.node+1:] {
		if len(window) >= r.readahead.Size() {
			break
		}
		if r.canReadAhead(e) {
			window = append(window, e)
		}
	}
	if len(window) == 1 {
		return
	}
	began := r.Now()
	r.readTogether(ctx, window)
	share := r.Now().Sub(began) / time.Duration(len(window))
	for _, e := range window {
		e.took += share
	}
}

func (r *run) canReadAhead(e *entry) bool {
	if e.done || e.Resource == nil || !e.Resource.Traits().ReadAhead || r.isFresh(e) || decide.Refusal(e.situation).Action != decide.Keep {
		return false
	}
	r.choose(e)
	return decide.Refusal(e.situation).Action == decide.Keep
}
