package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

// admit completes the situation before reading. It reports whether to wait for a provider that may
// still be installed.
func (t *traversal) admit(ctx context.Context, of *turn) (wait bool) {
	s := &of.situation
	of.findInvalid()
	if ctx.Err() != nil {
		t.stop(ctx, of)
	}
	t.checkSchedule(of)
	s.FailedDeps = t.failedBefore(of)
	if s.NoProvider == nil && of.isRefused() {
		return false
	}
	t.chooseProvider(of)
	none, missing := errors.AsType[*resource.NoProviderError](s.NoProvider)
	if !missing || none.Final {
		return false
	}
	if t.final {
		t.predictor.awaitAny(of)
	}
	return !t.final
}

// findInvalid takes over what was found to be wrong with a resource since its turn was made.
func (t *turn) findInvalid() {
	if t.situation.Invalid == nil {
		t.situation.Invalid = t.invalid
	}
}

// stop records that the end of the run keeps a resource from its turn, or interrupts it.
func (t *traversal) stop(ctx context.Context, of *turn) {
	t.stopped = context.Cause(ctx)
	of.situation.Stopped = t.stopped
}

// failedBefore returns what a resource comes directly after and failed, or was skipped for that.
func (t *traversal) failedBefore(of *turn) []resource.Ref {
	var failed []resource.Ref
	for before := range t.order.before(of.node) {
		if other := t.turns[before.index]; other != nil && other.blocks {
			failed = append(failed, before.Ref)
		}
	}
	return failed
}

// chooseProvider looks for a provider of a resource, if it is bound to a type.
func (t *traversal) chooseProvider(of *turn) {
	if of.Resource != nil {
		of.take(t.providers.choose(of.node))
	}
}

// checkSchedule finds out whether the schedule of a resource permits it now, unless it is postponed for another reason.
func (t *traversal) checkSchedule(of *turn) {
	s := &of.situation
	if of.Schedule == nil || t.IgnoreSchedules || s.Invalid != nil || s.Unscheduled != nil {
		return
	}
	now, err := t.calendar.localNow()
	if err != nil {
		s.Invalid = fmt.Errorf("cannot evaluate its schedule: %w", err)
		return
	}
	last := t.records.lastChecked(of.node)
	s.Unscheduled = of.Schedule.Due(last, now)
	of.carried = s.Unscheduled != nil && !last.IsZero()
}
