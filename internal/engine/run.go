package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// A run is what its traversals share: that of all resources, and those that correct drift before it goes on. Each field is
// the owner of a part of the state.
type run struct {
	Transaction
	order     order
	epochs    *epochs
	calls     *calls
	providers *providers
	reads     *reads
	names     *names
	records   *records
	ownership *ownership
	refreshes *refreshes
	calendar  *calendar
	whole     *traversal // nil if the run only corrects drift
}

// newRun returns a run of items. early are the results of those that were read before it.
func newRun(t Transaction, items []resource.Item, early readings) *run {
	p := t.Plans.of(items)
	sendStates(p, items)
	r := &run{Transaction: t, order: order{Plan: p, nodes: make([]*node, len(items))}, epochs: &epochs{now: 1}}
	nodes := make([]node, len(items))
	for i := range items {
		item := &items[i]
		nodes[i] = node{Item: item, index: i, noop: t.isNoop(*item), object: item.Object(), invalid: errors.Join(item.Invalid, p.Dangling[i])}
		r.order.nodes[i] = &nodes[i]
	}
	r.calls = &calls{hosts: t.hosts, bucket: t.Bucket, remembered: resource.NewMemo(), trace: t.Trace != nil}
	r.providers = &providers{facts: t.Facts, calls: r.calls, epochs: r.epochs, chosen: map[providerKey]chosen{}}
	r.reads = &reads{order: r.order, epochs: r.epochs, calls: r.calls, now: t.Now, named: r.register}
	r.names = &names{order: r.order, told: map[plan.Key]int{}, owners: make(map[resource.Ref]*node, len(items)), identified: map[plan.Key][]*node{}}
	r.records = &records{store: t.Store, digest: t.Digest}
	r.ownership = &ownership{store: t.Store, uid: t.OwnerUID, order: r.order, records: r.records}
	r.refreshes = &refreshes{store: t.Store, order: r.order, names: r.names}
	r.calendar = &calendar{host: t.hosts.bare, now: t.Now}
	r.refreshes.load()
	for _, n := range r.order.nodes {
		if err, ok := early[n.Resource]; ok {
			r.providers.choose(n)
			_ = r.reads.record(n, err) // n has it
			n.reading.early = true
		} else {
			r.register(n)
		}
	}
	return r
}

// traverseAll returns the traversal in which all resources have a turn.
func (r *run) traverseAll() *traversal {
	r.whole = r.newTraversal(func(*node) bool { return true })
	r.whole.reports = make([]report.ResourceReport, 0, len(r.Refused)+len(r.order.nodes))
	return r.whole
}

// refuse fails a resource, before its turn or after it. The first reason counts.
func (r *run) refuse(n *node, err error) {
	if n.invalid != nil {
		return
	}
	if r.whole != nil && r.whole.turns[n.index].done {
		r.whole.failLater(r.whole.turns[n.index], err)
		return
	}
	n.invalid = err
}

// beginWrite is called before each write: whatever was read of the host may change.
func (r *run) beginWrite() {
	r.reads.stopAhead()
	r.epochs.begin()
	r.reads.ahead.window.Shrink()
}

// preRun asks whether the run can take place, before anything is changed: each provider with such a
// check once, about all of its resources that have a turn. A resource whose check fails is invalid.
// An objection also ends the returned context, so that all others are skipped.
func (t *traversal) preRun(ctx context.Context) (context.Context, context.CancelFunc) {
	var checked []*node
	for _, of := range t.turns {
		if t.hasPreRunCheck(of) {
			checked = append(checked, of.node)
		}
	}
	var objecting []resource.Ref
	for _, group := range byProvider(checked) {
		errs := group[0].Resource.Provider().PreRunCheck(ctx, t.calls.sharedReader(), resourcesOf(group))
		for i, err := range errs {
			_, objects := errors.AsType[*resource.ObjectionError](err)
			if err == nil || !objects && ctx.Err() != nil { // the run ends, so nothing has failed
				continue
			}
			t.refuse(group[i], fmt.Errorf("its check before the run failed: %w", err))
			if objects {
				objecting = append(objecting, group[i].Ref)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if len(objecting) > 0 {
		cancel(errors.New("some checks before the run failed: " + text.List(objecting)))
	}
	return ctx, func() { cancel(nil) }
}

// hasPreRunCheck reports whether a resource is to be checked before the run. One without a suitable
// provider is not: another resource may bring that.
func (t *traversal) hasPreRunCheck(of *turn) bool {
	if of.Resource == nil || !of.Resource.Traits().PreRunCheck {
		return false
	}
	if t.checkSchedule(of); of.isRefused() || t.providers.bind(of.node) != nil {
		return false
	}
	return of.Resource.Unsupported() == nil && of.Resource.Abilities().PreRunCheck
}

// recordSecrets records the secrets of all resources on the host, whether they have a turn or not:
// later runs must not show them. If that fails, the resources with secrets fail.
func (r *run) recordSecrets(ctx context.Context) {
	if r.Noop {
		return
	}
	carriers := map[string][]*node{}
	for _, n := range r.order.nodes {
		if n.Resource != nil && n.Resource.HasSecret() {
			carriers[n.Ref.Kind] = append(carriers[n.Ref.Kind], n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(carriers)) {
		all := carriers[name]
		err := resource.Guarded(func() error {
			return all[0].Resource.Kind().RecordSecrets(ctx, r.calls.new().Writer(r.Host), resourcesOf(all))
		})
		for _, n := range all {
			if err != nil {
				r.refuse(n, err)
			}
		}
	}
}
