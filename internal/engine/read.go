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
		r.readHeldBack(ctx, e)
		return
	}
	r.readAhead(ctx, e)
	began := r.Now()
	if e.ended == nil && !r.isFresh(e) {
		r.readState(ctx, e)
	}
	r.noteReadError(ctx, e, e.readErr)
	if e.readErr != nil {
		r.noteAppliedFirst(e)
	}
	r.compare(e)
	r.audit(e)
	e.took += r.Now().Sub(began)
}

// readHeldBack looks for drift of a resource that is skipped because of what it depends on: that is not corrected, but it is told. A
// resource that cannot be read is not told about.
func (r *run) readHeldBack(ctx context.Context, e *entry) {
	if !e.isHeldBack() || r.Store.Observed(e.thing) == nil {
		return
	}
	if r.choose(e); e.situation.NoProvider != nil || e.situation.Unsupported != nil {
		return
	}
	if !r.isFresh(e) {
		r.readState(ctx, e)
	}
	if e.readErr == nil {
		r.compareState(e)
		e.report.OutOfSync = len(e.comparison.Changes) > 0
	}
}

// isHeldBack reports whether a resource of the catalog is skipped only because of what it depends on. Commands that an author wrote do
// not count: reading them may start some.
func (e *entry) isHeldBack() bool {
	s := e.situation
	if len(s.FailedDeps) == 0 || e.Resource == nil || e.Deletes != nil || e.Resource.Traits().Imperative {
		return false
	}
	s.FailedDeps = nil
	return decide.Refusal(s).Action == decide.Keep
}

// noteReadError records why a resource was not read: the end of the run, which interrupts reads, or another error.
func (r *run) noteReadError(ctx context.Context, e *entry, err error) {
	e.situation.ReadError = err
	if err != nil && ctx.Err() != nil {
		e.situation.Stopped = context.Cause(ctx)
		r.stopped = e.situation.Stopped
	}
}

// compare compares the state that was read with the desired one.
func (r *run) compare(e *entry) {
	if e.situation.ReadError != nil {
		return
	}
	e.compared = true
	r.compareState(e)
	e.situation.Changes = e.comparison.Changes
	e.report.OutOfSync = len(e.situation.Changes) > 0
}

// compareState is compare without an effect on the decision.
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

// stateLine describes a property in one line: its current value, the normalized one if that differs,
// and the target.
func stateLine(ref resource.Ref, s resource.PropertyState) string {
	current := clipped(s.Current)
	if s.Normalized != s.Current {
		current += ", normalized " + clipped(s.Normalized)
	}
	return fmt.Sprintf("%s: %s: current %s, target %s", ref, s.Property, current, clipped(s.Target))
}

func clipped(value string) string { return text.Clip(cmp.Or(value, resource.Absent), maxTraced) }

// audit reports changes of audited properties since a run last observed them, and notifies
// dependents. It ignores changes that the run itself makes later.
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

// readState reads one resource or, if its provider can, all remaining ones of its kind and provider.
func (r *run) readState(ctx context.Context, e *entry) {
	if e.Resource.Abilities().BatchRead {
		r.prefetch(ctx, e)
		return
	}
	c := r.call()
	if e.situation.Noop {
		c.PlannedNames = r.pendingNames
	}
	_ = r.readOne(ctx, c.Reader(r.hostOf(e)), e) // e keeps it
}

func (r *run) readOne(ctx context.Context, h resource.Reader, e *entry) error {
	return r.recordRead(e, resource.Guarded(func() error { return e.Resource.Read(ctx, h) }))
}

// recordRead records when a resource was read. It returns the error, which it also records.
func (r *run) recordRead(e *entry, err error) error {
	if err != nil {
		err = fmt.Errorf("cannot read the present state: %w", err)
	}
	e.readErr, e.readAt, e.readEarly = err, r.writes+1, false
	r.own(e)
	return err
}

// isFresh reports whether the result of the last read is still valid. Errors, and states that were
// read ahead, are valid until something is written. States that were read in a batch are valid until
// a write with side effects, or a write of a dependency.
func (r *run) isFresh(e *entry) bool {
	switch {
	case e.readErr != nil:
		return e.Resource.Abilities().BatchRead && e.readAt == r.writes+1
	case e.Resource.Traits().ReadAhead || e.readEarly:
		return e.readAt == r.writes+1
	}
	return e.readAt > max(r.lastEffect(), r.writtenBefore(e))
}

// lastEffect returns the number of the last write with side effects, or 0.
func (r *run) lastEffect() int {
	if len(r.effects) == 0 {
		return 0
	}
	return r.effects[len(r.effects)-1].at
}

// writtenBefore returns the number of the last write of a dependency, or 0.
func (r *run) writtenBefore(e *entry) int {
	last := 0
	for _, n := range r.plan.Before[e.node] {
		last = max(last, r.entries[n].writtenAt)
	}
	return last
}

// prefetch reads a resource together with all of its kind and provider that have not been read.
func (r *run) prefetch(ctx context.Context, first *entry) {
	var group []*entry
	for _, e := range r.entries {
		if e == first || r.prefetches(first, e) {
			group = append(group, e)
		}
	}
	_ = r.readAllOf(ctx, group) // each keeps its own
}

// prefetches reports whether a resource is read together with the first.
func (r *run) prefetches(first, e *entry) bool {
	if e.done || e.Ref.Kind != first.Ref.Kind || e.situation.Noop != first.situation.Noop || decide.Refusal(e.situation).Action != decide.Keep {
		return false
	}
	r.choose(e)
	return e.situation.NoProvider == nil && e.report.Provider == first.report.Provider && e.Resource.Abilities().BatchRead && !r.isFresh(e)
}

// readAllOf reads resources of one kind and provider, all of them in noop or none, as a batch if possible. The errors are
// parallel to them.
func (r *run) readAllOf(ctx context.Context, group []*entry) []error {
	if !group[0].Resource.Abilities().BatchRead {
		return r.readTogether(ctx, group)
	}
	errs := bound.ReadAll(ctx, r.call().Reader(r.hostOf(group[0])), resourcesOf(group))
	for i, err := range errs {
		errs[i] = r.recordRead(group[i], err)
	}
	return errs
}

// readTogether reads resources, all of them in noop or none, while nothing is written, in parallel if possible. The
// errors are parallel to them.
func (r *run) readTogether(ctx context.Context, all []*entry) []error {
	if len(all) == 0 {
		return nil
	}
	workers := 1
	if all[0].Resource.Traits().ReadAhead {
		workers = runtime.GOMAXPROCS(0)
	}
	h := r.sharedReaderOf(r.hostOf(all[0]))
	return resource.Together(len(all), workers, func(i int) error { return r.readOne(ctx, h, all[i]) })
}

// readAhead reads a resource and some of those that come later in the catalog. A failed read is
// repeated at the resource's turn.
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
		if e.situation.Noop == first.situation.Noop && r.canReadAhead(e) {
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
