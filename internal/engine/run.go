package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/readahead"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// run is the state of one run.
type run struct {
	Transaction
	items   []resource.Item // without deletions of what is no longer among them
	plan    *plan.Plan
	queue   *graph.Queue
	entries []*entry
	reports []report.ResourceReport
	reader  resource.Reader // for what concerns all resources
	// interrupted returns why the run has to stop, or nil.
	interrupted func() error

	location        *time.Location // of the host, once it is known
	generated       []resource.Ref // whose values are remembered
	generatedInSync report.Counts  // generated resources that are in sync: they have no report

	readahead        readahead.Window
	owners           map[resource.Ref]*entry           // the resources of the catalog, by the things that they manage
	providers        map[providerKey]resource.Resource // one that has its provider
	pendingKeys      map[string]map[string]bool        // by kind and name: what would be there by now, had the run not only reported
	planned          []any                             // what would have been changed by now, for [resource.Planned]
	deferred         []int                             // no provider yet; asked again once something changed
	progress         bool                              // something was written since they were asked last
	writes           int                               // so far
	effects          []sideEffect                      // in their order
	stopped          error                             // why the run ended before a resource had its turn
	identified       identities                        // nil before the first change
	generators       []generator                       // in their order
	generatedChanges map[plan.Key]generatedChange      // by kind and identity: what was changed
	final            bool                              // nothing more can change: what has no provider fails
	remembered       *resource.Memo                    // by providers
	foreseen         *resource.Memo                    // what predictions have looked up since
	foreseenAt       planned
}

func newRun(t Transaction, items []resource.Item, read readings) *run {
	r := &run{
		Transaction: t, plan: plan.New(items), reports: make([]report.ResourceReport, 0, len(t.Refused)+len(items)), providers: map[providerKey]resource.Resource{},
		pendingKeys: map[string]map[string]bool{}, generatedChanges: map[plan.Key]generatedChange{}, owners: make(map[resource.Ref]*entry, len(items)),
		remembered: resource.NewMemo(),
	}
	r.reader = r.call().Reader(r.hosts.all)
	r.queue = r.plan.Graph.Queue()
	r.entries = make([]*entry, 0, len(items))
	sendStates(r.plan, items)
	armed := t.Store.Armed()
	for i, item := range items {
		e := &entry{Item: item, node: i, thing: item.Thing()}
		e.report.Ref = report.Ref(item.Ref)
		e.situation = decide.Situation{
			Unselected: !t.includes(item),
			Cycle:      r.plan.Cycles[i],

			Unscheduled: item.Postponed,
			Invalid:     errors.Join(item.Invalid, r.plan.Dangling[i]),
			Noop:        t.Noop,
		}
		for _, thing := range r.armedNames(e) {
			e.receive(armed[thing])
		}
		if item.Noop != nil && !t.isPlan() {
			e.situation.Noop = *item.Noop
		}
		r.entries = append(r.entries, e)
	}
	for _, e := range r.entries {
		if err, ok := read[e.Resource]; ok {
			r.choose(e)
			_ = r.recordRead(e, err) // e keeps it
			e.readEarly = true
		} else {
			r.own(e)
		}
	}
	return r
}

// emit reports a resource that has ended.
func (r *run) emit(res report.ResourceReport) {
	r.reports = append(r.reports, res)
	if r.Observe != nil && !(r.isPartial() && res.Left) {
		r.Observe(res)
	}
}

// retryDeferred gives deferred resources another turn: after progress, or for the last time.
func (r *run) retryDeferred() bool {
	if len(r.deferred) == 0 {
		return false
	}
	r.final = !r.progress
	r.progress = false
	for _, n := range r.deferred {
		r.queue.Push(n)
	}
	r.deferred = nil
	return true
}

// step handles a resource, together with all that can be written in the same batch.
func (r *run) step(ctx context.Context, first *entry) {
	if r.prepare(ctx, first) {
		r.deferred = append(r.deferred, first.node)
		return
	}
	r.announce([]*entry{first})
	r.resume(ctx, first)
	r.read(ctx, first)
	// The current resource is finished even if the run has to stop, once it was read.
	inHand := host.UntilAbort(ctx)
	group := []*entry{first}
	for _, n := range r.batchWith(ctx, first) {
		r.read(ctx, r.entries[n])
		group = append(group, r.entries[n])
	}
	began := r.Now()
	r.announce(group)
	r.write(inHand, group)
	share := r.Now().Sub(began) / time.Duration(len(group))
	for _, e := range group {
		e.began = r.Now().Add(-e.took - share)
		r.applyEvents(inHand, e)
		r.generate(ctx, e)
		r.finish(e)
	}
}

// announce calls Begin with resources that are handled now, but not with one that is refused: nothing
// is done about that.
func (r *run) announce(group []*entry) {
	if r.Begin == nil || decide.Refusal(group[0].situation).Action != decide.Keep {
		return
	}
	refs := make([]resource.Ref, len(group))
	for i, e := range group {
		refs[i] = e.Ref
	}
	r.Begin(refs)
}

// beforeWrite is called before each write: whatever was read of the host may change.
func (r *run) beforeWrite() {
	r.progress = true
	r.writes++
	r.readahead.Shrink()
	clear(r.providers)
}

// canBatch reports whether a resource can be written in a batch.
func (r *run) canBatch(e *entry) bool {
	return decide.Refusal(e.situation).Action == decide.Keep && e.Resource.Abilities().BatchWrite
}

// batchWith returns the ready resources that can be written in one batch with the first.
func (r *run) batchWith(ctx context.Context, first *entry) []int {
	if len(first.situation.Changes) == 0 || !r.canBatch(first) {
		return nil
	}
	joins := func(n int) bool { return r.canJoin(ctx, first, r.entries[n]) }
	if limit := first.Resource.Traits().BatchLimit; limit > 0 {
		return r.queue.PopRow(first.node, limit-1, joins)
	}
	return r.queue.PopAll(joins)
}

// canJoin reports whether a ready resource can be written in one batch with the first.
func (r *run) canJoin(ctx context.Context, first, e *entry) bool {
	if e.Ref.Kind != first.Ref.Kind || r.prepare(ctx, e) {
		return false
	}
	return r.canBatch(e) && e.report.Provider == first.report.Provider
}

// call returns the context of each call of a provider.
func (r *run) call() resource.Call {
	return resource.Call{Bucket: r.Bucket, Run: r.remembered, Stopped: r.interrupted, Trace: r.Trace != nil}
}

// sharedReader returns a reader for calls between which nothing is written, so that they look things
// up only once.
func (r *run) sharedReader() resource.Reader { return r.sharedReaderOf(r.hosts.all) }

func (r *run) sharedReaderOf(h host.Reader) resource.Reader {
	c := r.call()
	c.Memo = resource.NewMemo()
	return c.Reader(h)
}

// hostOf returns the host as a resource may read it.
func (r *run) hostOf(e *entry) host.Reader {
	if e.situation.Noop || r.isPlan() {
		return r.hosts.simulated
	}
	return r.Host
}

// writer returns the host for changes of a resource. Notes go to its report.
func (r *run) writer(e *entry) resource.Writer {
	return r.writerFor(e, host.Job{Owner: e.thing.String()})
}

// writerFor is writer with a job for Detached commands.
func (r *run) writerFor(e *entry, job host.Job) resource.Writer {
	c := r.call()
	c.Note, c.Job = e.addNote, job
	return c.Writer(r.busyHost(e))
}

// tellReach calls Reach. Of a resource that had no turn, nobody knows whether it asks for others. One that only its provider can
// identify needs those of its kind.
func (r *run) tellReach(items []resource.Item) {
	if r.Reach != nil {
		r.Reach(r.plan.Reach(items, func(n int) bool {
			e := r.entries[n]
			return e.looked || !e.compared || e.Resource.Traits().CanonicalNames
		}))
	}
}

// save forgets things that no resource manages, except in noop and after a partial run, and saves the state.
func (r *run) save() error {
	if !r.Noop && !r.isPartial() {
		r.Store.Retain(r.thingsToKeep())
	}
	if err := r.Store.Commit(); err != nil {
		return fmt.Errorf("cannot save the state of the run: %w", err)
	}
	return nil
}

// thingsToKeep selects the things that stay in the store: those that a resource manages and, where a
// resource's thing is unknown, all of its kind.
func (r *run) thingsToKeep() func(thing resource.Ref) bool {
	things := make(map[resource.Ref]bool, len(r.entries))
	for _, thing := range r.generated {
		things[thing] = true
	}
	doubts := map[string]bool{}
	for _, e := range r.entries {
		if e.Resource == nil || !e.Resource.IsNamed() {
			doubts[e.Ref.Kind] = true
		}
		if !e.report.Gone {
			things[e.thing] = true
		}
	}
	for _, w := range r.Withheld {
		doubts[w.Ref.Kind] = true
	}
	return func(thing resource.Ref) bool {
		return doubts[thing.Kind] || things[thing]
	}
}
