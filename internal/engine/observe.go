package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/engine/audit"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// observe reads the present state and compares it with the desired one, unless the resource is refused.
func (t *traversal) observe(ctx context.Context, of *turn) {
	if of.isRefused() || t.ownership.isTakenOver(of.node) {
		t.observeBlocked(ctx, of)
		return
	}
	t.reads.readAhead(ctx, of.node, t.canReadAhead)
	began := t.Now()
	if of.ended == nil {
		t.read(ctx, of)
	}
	t.stopIfReadInterrupted(ctx, of)
	if of.reading.err != nil {
		t.predictor.awaitBefore(of)
	} else {
		t.compare(of)
		of.compared = true
		of.situation.Changes = of.comparison.Changes
		of.outOfSync = len(of.situation.Changes) > 0
		t.audit(of)
	}
	of.reading.took += t.Now().Sub(began)
}

// observeBlocked looks for drift of a resource that is skipped because of what it depends on: that is reported, but not corrected. A
// resource that cannot be read is not reported.
func (t *traversal) observeBlocked(ctx context.Context, of *turn) {
	if !of.isOnlyBlocked() || !t.records.isKnown(of.object) {
		return
	}
	if t.chooseProvider(of); of.situation.NoProvider != nil || of.situation.Unsupported != nil {
		return
	}
	if t.read(ctx, of); of.reading.err == nil {
		t.compare(of)
		of.outOfSync = len(of.comparison.Changes) > 0
	}
}

// isOnlyBlocked reports whether a resource of the catalog is skipped only because of what it depends on. Commands that an author wrote do
// not count: reading them may start some.
func (t *turn) isOnlyBlocked() bool {
	s := t.situation
	if len(s.FailedDeps) == 0 || t.Resource == nil || t.Deletes != nil || t.Resource.Traits().Imperative {
		return false
	}
	s.FailedDeps = nil
	return decide.Refusal(s).Action == decide.Continue
}

// stopIfReadInterrupted records why a resource was not read: the end of the run, which interrupts reads, or another error.
func (t *traversal) stopIfReadInterrupted(ctx context.Context, of *turn) {
	of.situation.ReadError = of.reading.err
	if of.reading.err != nil && ctx.Err() != nil {
		t.stop(ctx, of)
	}
}

// compare compares the state that was read last with the desired one.
func (t *traversal) compare(of *turn) {
	of.comparison = of.Resource.Compare()
	if t.Trace == nil {
		return
	}
	for _, s := range of.Resource.PropertyStates() {
		t.Trace(stateLine(of.Ref, s))
	}
}

// maxTraced is the length, in bytes, of the longest value in a trace.
const maxTraced = 200

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
func (t *traversal) audit(of *turn) {
	if !of.Audit {
		return
	}
	events := audit.Events(t.Store.Audited(of.object), of.Resource.Audited(t.Store.Key()))
	of.result.add(events...)
	if audit.FoundChange(events) && !t.remembersNothing(of) {
		if err := t.refreshes.arm(of); err != nil {
			of.result.fail(err)
		}
	}
}

// read reads a resource, unless its last read still holds, together with all remaining ones of its kind and provider if
// its provider can.
func (t *traversal) read(ctx context.Context, of *turn) {
	switch {
	case t.reads.hold(of.node):
	case of.Resource.Abilities().BatchRead:
		_ = t.reads.all(ctx, t.readWith(of)) // each has its own error
	default:
		c := t.calls.new()
		if of.noop {
			c.PlannedNames = t.predictor.namesOf
		}
		_ = t.reads.one(ctx, c.Reader(t.calls.hostOf(of.node)), of.node) // of has it
	}
}

// readWith returns the resources that are read in a batch with the first, in their order.
func (t *traversal) readWith(first *turn) []*node {
	var group []*node
	for _, of := range t.turns {
		if of == first || of != nil && t.canReadWith(first, of) {
			group = append(group, of.node)
		}
	}
	return group
}

func (t *traversal) canReadWith(first, of *turn) bool {
	if of.done || of.Ref.Kind != first.Ref.Kind || of.noop != first.noop || of.isRefused() {
		return false
	}
	t.chooseProvider(of)
	return of.situation.NoProvider == nil && of.choice.name == first.choice.name && of.Resource.Abilities().BatchRead && !t.reads.hold(of.node)
}

// canReadAhead reports whether a resource may be read before its turn.
func (t *traversal) canReadAhead(n *node) bool {
	of := t.turns[n.index]
	if of == nil || of.done || of.isRefused() {
		return false
	}
	t.chooseProvider(of)
	return !of.isRefused()
}
