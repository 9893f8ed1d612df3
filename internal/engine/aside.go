package engine

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A busy host is the host of resources that are being changed. While a Detached command of theirs runs, the run
// is idle: nothing else of it happens until the command has ended and [Transaction].Idle has returned. So there is
// one goroutine that handles resources and uses the store.
type busyHost struct {
	host.Host
	run   *run
	group []*entry
}

func (r *run) busyHost(group ...*entry) host.Host { return busyHost{r.Host, r, group} }

// Run implements [host.Host].
func (b busyHost) Run(ctx context.Context, cmd host.Cmd) (res host.Result, err error) {
	if !cmd.Detached {
		return b.Host.Run(ctx, cmd)
	}
	b.idle(ctx, func() { res, err = b.Host.Run(ctx, cmd) })
	return res, err
}

// Resume implements [host.Host]. What it waited for has changed the host since this run read it.
func (b busyHost) Resume(ctx context.Context, owner string) (found *host.Resumed, err error) {
	b.idle(ctx, func() { found, err = b.Host.Resume(ctx, owner) })
	if found != nil {
		b.run.beforeWrite()
		for _, e := range b.group {
			b.run.recordWrite(e)
		}
	}
	return found, err
}

func (b busyHost) idle(ctx context.Context, work func()) {
	if b.run.Idle == nil {
		work()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	b.run.Idle(ctx, done, Aside{b.run, b.group})
	<-done
}

// pause lets urgent resources be managed before the turn of the next one.
func (r *run) pause(ctx context.Context) {
	if r.Idle != nil {
		r.Idle(ctx, nil, Aside{run: r})
	}
}

// An Aside manages resources between two others, or while a command of others runs that have no path to them in either
// direction. It is valid until the Idle that it was passed to returns.
type Aside struct {
	run  *run
	busy []*entry
}

// unrelated reports by node whether it is neither one of a group nor before or after one of them.
func (r *run) unrelated(group []*entry) []bool {
	var nodes []int
	for _, e := range group {
		nodes = append(nodes, e.node)
	}
	after, before := r.plan.Graph.Reachable(nodes...), r.before(nodes)
	free := make([]bool, len(after))
	for n := range free {
		free[n] = !after[n] && !before[n]
	}
	return free
}

// before reports by node whether one of the given nodes comes after it, directly or not.
func (r *run) before(nodes []int) []bool {
	seen := make([]bool, len(r.entries))
	for len(nodes) > 0 {
		n := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, r.plan.Before[n]...)
		}
	}
	return seen
}

// Resources returns the resources of these kinds that can be managed now: those without a path to the running ones that
// a run has managed before, and so all that they depend on. Others are not drift, but wait for their turn. Between two
// resources, those that the run has changed can't: that is what shows on the host, and the next run checks it.
func (a Aside) Resources(kinds ...string) map[resource.Ref]bool {
	can, free, own := map[resource.Ref]bool{}, a.run.unrelated(a.busy), a.own()
	for n, e := range a.run.entries {
		if slices.Contains(kinds, e.Ref.Kind) && free[n] && !own[n] && a.wasManaged(n) && a.areManaged(a.run.plan.Before[n]) {
			can[e.Ref] = true
		}
	}
	return can
}

// Waiting returns those of [Aside.Resources] that have not had their turn in the run.
func (a Aside) Waiting(kinds ...string) map[resource.Ref]bool {
	can := a.Resources(kinds...)
	for _, e := range a.run.entries {
		if e.done {
			delete(can, e.Ref)
		}
	}
	return can
}

// own returns, between two resources, the nodes that the run has changed.
func (a Aside) own() map[int]bool {
	own := map[int]bool{}
	if len(a.busy) > 0 {
		return own
	}
	for _, c := range a.run.generatedChanges {
		own[c.parent.node] = true
	}
	for n, e := range a.run.entries {
		if e.changed() {
			own[n] = true
		}
	}
	return own
}

func (a Aside) wasManaged(node int) bool {
	e := a.run.entries[node]
	return e.Deletes == nil && !e.blocksDependents && a.run.Store.Observed(e.thing) != nil
}

func (a Aside) areManaged(nodes []int) bool {
	for _, n := range nodes {
		if e := a.run.entries[n]; e.blocksDependents || !e.done && !a.wasManaged(n) {
			return false
		}
	}
	return true
}

// Run manages some of these resources, as a run of its own. In its report, the others are Left. What its changes
// notify is refreshed in its turn or, if that has been, by the next run. The error is one of the store.
func (a Aside) Run(ctx context.Context, selected map[resource.Ref]bool) (report.Report, error) {
	t := a.run.Transaction
	t.Idle, t.Before, t.Refused, t.Reach = nil, nil, nil, nil
	t.Only = selected
	t.Selected = func(i resource.Item) bool { return selected[i.Ref] } // what comes after them has its turn in the run
	result, err := t.Run(ctx, a.run.items)
	a.run.readAfter(result)
	a.run.notifyAfter(result)
	return result, err
}

// readAfter makes the run read again what an aside has changed, and what comes after that.
func (r *run) readAfter(aside report.Report) {
	changed := aside.Changed()
	if len(changed) == 0 {
		return
	}
	r.beforeWrite()
	for _, e := range r.entries {
		if slices.Contains(changed, e.Ref) {
			e.readAt, e.writtenAt = 0, r.writes
		}
	}
}

// notifyAfter passes the events of an aside on to resources that have not had their turn. Their refreshes are on disk.
func (r *run) notifyAfter(aside report.Report) {
	changed := map[resource.Ref][]report.Event{}
	for _, res := range aside.Resources {
		changed[resource.Ref(res.Ref)] = res.Events
	}
	for _, e := range r.entries {
		for _, n := range r.plan.Refreshes[e.node] {
			to := r.entries[n]
			if before := to.situation.Events.Real; !to.done {
				count(&to.situation.Events, changed[e.Ref], nil)
				to.refreshDue = to.refreshDue || to.situation.Events.Real > before
			}
		}
	}
}
