package engine

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// correct gives some resources turns of their own, and to what comes after a change if follow says so; nil follows none.
func (r *run) correct(ctx context.Context, drifted map[resource.Ref]bool, follow func(resource.Ref) bool) (report.Report, error) {
	began := r.Now()
	t := r.newTraversal(func(n *node) bool {
		return drifted[n.Ref] && n.Resource != nil && !n.Resource.Traits().PreRunCheck
	})
	for _, of := range t.turns {
		if of != nil {
			r.reads.forget(of.node)
		}
	}
	t.follow, t.partial, t.nested = follow, true, r.whole != nil
	t.walk(ctx)
	t.verifyAtEnd(host.UntilAbort(ctx))
	return t.report(began), r.records.commit()
}

// yield lets drift be corrected before the turn of the next resource.
func (t *traversal) yield(ctx context.Context) {
	if t.Yield != nil && !t.nested {
		t.Yield(ctx, nil, Corrector{t: t})
	}
}

// busyHost returns the host of resources that are being changed. While a Detached command of theirs runs, the traversal
// yields: nothing else of it happens until the command has ended and Yield has returned. So there is
// one goroutine that handles resources and uses the store.
func (t *traversal) busyHost(group ...*turn) host.Host { return busyHost{t.Host, t, group} }

type busyHost struct {
	host.Host
	t     *traversal
	group []*turn
}

// Run implements [host.Host].
func (b busyHost) Run(ctx context.Context, cmd host.Cmd) (res host.Result, err error) {
	if !cmd.Detached {
		return b.Host.Run(ctx, cmd)
	}
	b.yield(ctx, func() { res, err = b.Host.Run(ctx, cmd) })
	return res, err
}

// Resume implements [host.Host]. What it waited for has changed the host since this run read it.
func (b busyHost) Resume(ctx context.Context, owner string) (found *host.Resumed, err error) {
	b.yield(ctx, func() { found, err = b.Host.Resume(ctx, owner) })
	if found != nil {
		b.t.beginWrite()
		for _, of := range b.group {
			b.t.epochs.wrote(of.node)
		}
	}
	return found, err
}

func (b busyHost) yield(ctx context.Context, work func()) {
	if b.t.Yield == nil || b.t.nested {
		work()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	b.t.Yield(ctx, done, Corrector{b.t, b.group})
	<-done
}

// A Corrector corrects drift between the turns of two resources, or while a command of some runs. It is valid until the Yield that it
// was passed to returns.
type Corrector struct {
	t    *traversal
	busy []*turn
}

// Correctable returns the resources of these kinds whose drift can be corrected now: those without a path to the running ones that
// a run has managed before, and so all that they depend on. Others are not drift, but wait for their turn. Between two
// resources, those that the traversal has changed can't: that is what shows on the host, and the next run checks it.
func (c Corrector) Correctable(kinds ...string) map[resource.Ref]bool {
	related, own := c.related(), c.own()
	can := map[resource.Ref]bool{}
	for i, n := range c.t.order.nodes {
		if slices.Contains(kinds, n.Ref.Kind) && !related[i] && !own[i] && c.wasManaged(n) && c.areManagedBefore(n) {
			can[n.Ref] = true
		}
	}
	return can
}

// Waiting returns those of [Corrector.Correctable] that have not had their turn.
func (c Corrector) Waiting(kinds ...string) map[resource.Ref]bool {
	can := c.Correctable(kinds...)
	for _, n := range c.t.order.nodes {
		if c.hadTurn(n) {
			delete(can, n.Ref)
		}
	}
	return can
}

// Correct corrects the drift of some of these resources, as [Transaction.Correct] does. What its changes notify is refreshed in its
// turn or, if that has been, by the next run. The error is one of the store.
func (c Corrector) Correct(ctx context.Context, drifted map[resource.Ref]bool) (report.Report, error) {
	defer c.t.beginWrite() // drift goes on, and a command may still change what was read meanwhile
	return c.t.correct(ctx, drifted, nil)
}

// related reports by node whether it is one of the busy ones, or comes before or after one of them.
func (c Corrector) related() []bool {
	var busy []int
	for _, of := range c.busy {
		busy = append(busy, of.index)
	}
	related := c.t.order.ancestors(busy...)
	for i, after := range c.t.order.Graph.Reachable(busy...) {
		related[i] = related[i] || after
	}
	return related
}

// own returns, between two resources, the nodes that the traversal has changed.
func (c Corrector) own() map[int]bool {
	own := map[int]bool{}
	if len(c.busy) > 0 {
		return own
	}
	for _, g := range c.t.generation.changes {
		own[g.parent.index] = true
	}
	for i, of := range c.t.turns {
		if of != nil && of.changed() {
			own[i] = true
		}
	}
	return own
}

// wasManaged reports whether an earlier run has managed a resource, and nothing has failed since.
func (c Corrector) wasManaged(n *node) bool {
	return n.Deletes == nil && !c.blocks(n) && c.t.records.isKnown(n.object)
}

func (c Corrector) areManagedBefore(n *node) bool {
	for before := range c.t.order.before(n) {
		if c.blocks(before) || !c.hadTurn(before) && !c.wasManaged(before) {
			return false
		}
	}
	return true
}

func (c Corrector) hadTurn(n *node) bool {
	of := c.t.turns[n.index]
	return of != nil && of.done
}

func (c Corrector) blocks(n *node) bool {
	of := c.t.turns[n.index]
	return of != nil && of.blocks
}
