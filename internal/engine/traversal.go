package engine

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A traversal gives resources their turns, in the order of their dependencies, and collects their reports. One handles all
// resources of a run; others handle those that have drifted.
type traversal struct {
	*run
	queue  *graph.Queue
	turns  []*turn                 // by node; nil for a resource that has none
	follow func(resource.Ref) bool // which resources get a turn after a change of what they come after; nil for none

	deferred   []*turn // no provider yet; asked again once something changed
	deferredIn epoch   // when they were asked last
	final      bool    // nothing more can change: what has no provider fails
	stopped    error   // why the traversal ended before a resource had its turn

	predictor  *predictor // in noop
	generation generation // by its resources
	reports    []report.ResourceReport
	partial    bool // it corrects drift
	nested     bool // within another traversal
}

// newTraversal returns a traversal in which some resources have a turn.
func (r *run) newTraversal(included func(*node) bool) *traversal {
	t := &traversal{run: r, queue: r.order.Graph.Queue(), turns: make([]*turn, len(r.order.nodes)), deferredIn: r.epochs.now, generation: newGeneration()}
	for i, n := range r.order.nodes {
		if included(n) {
			t.turns[i] = r.newTurn(n)
		}
	}
	t.predictor = &predictor{order: r.order, turns: t.turns, calls: r.calls, epochs: r.epochs, records: r.records, names: map[string]map[string]bool{}}
	return t
}

// newTurn returns a turn that has not begun.
func (r *run) newTurn(n *node) *turn {
	t := &turn{node: n, situation: decide.Situation{
		Unselected:  !r.selects(*n.Item),
		Cycle:       r.order.Cycles[n.index],
		Invalid:     n.invalid,
		Unscheduled: n.Postponed,
		Noop:        n.noop,
	}}
	if n.choice.in > 0 {
		t.take(n.choice)
	}
	return t
}

// take takes over the choice of a provider.
func (t *turn) take(c choice) {
	t.situation.NoProvider, t.situation.Unsupported, t.situation.CanRefresh = c.err, c.unsupported, c.canRefresh
}

// walk gives each resource its turn.
func (t *traversal) walk(ctx context.Context) {
	defer t.reads.stopAhead()
	for {
		n, ok := t.queue.Pop()
		switch {
		case !ok && !t.retryDeferred():
			return
		case !ok:
		case t.turns[n] == nil:
			t.queue.Done(n)
		default:
			t.yield(ctx)
			t.step(ctx, t.turns[n])
		}
	}
}

// retryDeferred gives deferred resources another turn: after a write, or for the last time.
func (t *traversal) retryDeferred() bool {
	if len(t.deferred) == 0 {
		return false
	}
	t.final = t.epochs.now == t.deferredIn
	t.deferredIn = t.epochs.now
	for _, d := range t.deferred {
		t.queue.Push(d.index)
	}
	t.deferred = nil
	return true
}

// step handles a resource, together with all that can be written in the same batch.
func (t *traversal) step(ctx context.Context, first *turn) {
	if t.admit(ctx, first) {
		t.deferred = append(t.deferred, first)
		return
	}
	t.announce(first)
	t.resume(ctx, first)
	t.observe(ctx, first)
	// The current resource is finished even if the run has to stop, once it was read.
	inHand := host.UntilAbort(ctx)
	group := append([]*turn{first}, t.batchWith(ctx, first)...)
	for _, other := range group[1:] {
		t.observe(ctx, other)
	}
	began := t.Now()
	t.announce(group...)
	t.write(inHand, group)
	share := t.Now().Sub(began) / time.Duration(len(group))
	for _, each := range group {
		each.began = t.Now().Add(-each.reading.took - share)
		each.reading.took = 0
		t.handleEvents(inHand, each)
		t.generate(ctx, each)
		t.finish(each)
	}
}

// announce calls Begin with resources that are handled now, but not with one that is refused: nothing
// is done about that.
func (t *traversal) announce(group ...*turn) {
	if t.Begin == nil || group[0].isRefused() {
		return
	}
	refs := make([]resource.Ref, len(group))
	for i, each := range group {
		refs[i] = each.Ref
	}
	t.Begin(refs)
}

// batchWith returns the ready resources that can be written in one batch with the first.
func (t *traversal) batchWith(ctx context.Context, first *turn) []*turn {
	if len(first.situation.Changes) == 0 || !first.canBatch() {
		return nil
	}
	joins := func(n int) bool {
		other := t.turns[n]
		return other != nil && other.Ref.Kind == first.Ref.Kind && !t.admit(ctx, other) && other.canBatch() && other.choice.name == first.choice.name
	}
	var numbers []int
	if limit := first.Resource.Traits().BatchLimit; limit > 0 {
		numbers = t.queue.PopRow(first.index, limit-1, joins)
	} else {
		numbers = t.queue.PopAll(joins)
	}
	var others []*turn
	for _, n := range numbers {
		others = append(others, t.turns[n])
	}
	return others
}

// finish ends a turn: the result is reported, remembered and passed on, and dependents are released.
func (t *traversal) finish(of *turn) {
	t.epochs.follows(of.node, t.reads.writtenBefore(of.node))
	t.conclude(of)
	t.remember(of)
	of.done = true
	of.place = len(t.reports)
	t.emit(of.report(t.Now()))
	t.queue.Done(of.index)
	t.includeAfter(of)
}

// includeAfter gives turns to what comes after a resource that was changed. What has a check before the run waits for a whole one.
func (t *traversal) includeAfter(of *turn) {
	if t.follow == nil || !of.changed() {
		return
	}
	for n := range t.order.after(of.node) {
		if t.turns[n.index] == nil && n.Resource != nil && !n.Resource.Traits().PreRunCheck && t.follow(n.Ref) {
			t.turns[n.index] = t.newTurn(n)
		}
	}
}

// conclude sets the state of a resource and notifies its dependents.
func (t *traversal) conclude(of *turn) {
	of.result.state = of.result.stateOfEvents()
	t.predictor.doubtAfterUnknown(of)
	of.blocks = of.blocks || of.result.state == report.Failed
	if of.result.state == report.Failed && of.result.message == "" {
		of.result.message = of.result.firstFailure()
	}
	t.reportUntried(of)
	of.result.setLevels(of.LogLevel)
	t.refreshes.notify(of, t.remembersNothing(of))
}

// reportUntried adds the differences that a resource is known to have although nothing was tried to correct them, because
// it cannot be changed, or something that it depends on failed.
func (t *traversal) reportUntried(of *turn) {
	if of.result.tried() || of.situation.Stopped != nil || of.result.state != report.Failed && of.result.state != report.Skipped {
		return
	}
	for _, c := range of.comparison.Changes {
		ev := t.records.event(of, c, nil)
		ev.Status, ev.Message = report.Failure, of.result.message
		of.result.add(ev)
	}
}

// remembersNothing reports whether nothing is remembered of a resource, because the whole run is in
// noop.
func (t *traversal) remembersNothing(of *turn) bool { return t.Noop && of.noop }

// remember saves what later runs need of a turn.
func (t *traversal) remember(of *turn) {
	switch {
	case t.remembersNothing(of):
		t.refreshes.done(of, false)
	case of.Deletes != nil:
		of.deleted = t.ownership.settle(of)
	default:
		t.ownership.update(of)
		t.refreshes.done(of, true)
		t.records.remember(of)
	}
}

// emit reports a resource that has ended.
func (t *traversal) emit(r report.ResourceReport) {
	t.reports = append(t.reports, r)
	if t.Observe != nil {
		t.Observe(r)
	}
}

// report returns the report of the traversal.
func (t *traversal) report(began time.Time) report.Report {
	rep := report.Report{
		Kind: "Report", APIVersion: "fettle.dev/v1alpha1", Host: t.HostName,
		Noop: t.Noop, Partial: t.partial, Started: began, CatalogDigest: t.Digest,
		Resources: t.reports, Duration: report.Duration(t.Now().Sub(began)), Counts: t.generation.inSync,
	}
	rep.Complete(t.Before)
	if t.stopped != nil {
		rep.Fail("the run was stopped before its end" + decide.StopReason(t.stopped))
	}
	return rep
}

// failLater fails a resource that has ended. Its report is replaced and published again.
func (t *traversal) failLater(of *turn, err error) {
	if of.result.state == report.Skipped && !of.waits || of.result.state == report.Failed {
		return
	}
	of.result.message = ""
	of.result.fail(err)
	of.blocks = true
	t.remember(of)
	r := of.report(t.Now())
	r.Duration = t.reports[of.place].Duration
	t.reports[of.place] = r
	if t.Observe != nil {
		t.Observe(r)
	}
}
