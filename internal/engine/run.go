package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/claim"
)

// A Transaction is how to run. Its zero values are useful but for Host or Reader and Now.
// One run at a time on a host is the caller's care.
type Transaction struct {
	// Host is what a run changes. Without it the run is a plan: it looks by Reader, reports
	// what would be done, whatever a resource says of noop, and writes nothing, neither to
	// the host nor to the Store.
	Host   host.Host
	Reader host.Reader // what a plan looks at; nil where there is a Host
	// Bucket keeps the contents of files that are replaced, and knows which are secret. Types that
	// need it fail without it.
	Bucket   resource.Bucket
	Facts    resource.Facts
	Kinds    []resource.Kind // for resources that generate those of other kinds; optional
	HostName string          // for the report
	Digest   string          // of the catalog, for the report
	Noop     bool            // where a resource does not say
	Store    Store           // nil remembers nothing
	// Selected limits the run; nil selects all. What is not selected is reported as
	// skipped, and what comes after it goes on.
	Selected func(resource.Item) bool
	// Before is how long what came before the run took, for the report: [FactGeneration]
	// and [ConfigRetrieval]. Optional.
	Before map[string]time.Duration
	// IgnoreSchedules takes every time for the right one.
	IgnoreSchedules bool
	// Refused are resources that were found at fault before the run: they come first
	// in its report.
	Refused []ResourceReport
	// Withheld are resources that were left out of the items and belong to the host
	// all the same.
	Withheld []resource.Ref
	// Charter identifies who speaks for the host, such as the object that the catalog comes
	// from. What an item's Deletion says is done once no item of the same charter is about its
	// thing any more: what another one does not have is not gone. "" has nothing done: for items
	// that are no whole catalog.
	Charter string
	// Trace is given the state of each managed property whenever it was compared, as a line
	// for people who debug, without secrets and not escaped. From the run's goroutine. Optional.
	Trace func(line string)
	// Begin is told of the resources that are dealt with next, together, from the run's
	// goroutine. Optional.
	Begin func([]resource.Ref)
	// Observe is told of each resource as it ends, from the run's goroutine. Optional.
	Observe func(ResourceReport)
	Now     func() time.Time
}

// Run applies items once. When ctx ends, the resource in hand is finished and the
// rest is skipped, with the cause of that end as the reason: such a run failed. The error
// says that the store failed, which leaves the host and the report as they are.
func (t Transaction) Run(ctx context.Context, items []resource.Item) (Report, error) {
	if t.Store == nil {
		t.Store = Forgetful{}
	}
	if t.plans() {
		t.Noop, t.Store = true, unchanged{from: t.Store}
	}
	t.heed(items)
	if leavers := t.leavers(items); len(leavers) > 0 {
		items = slices.Concat(items, leavers)
	}
	r := newRun(t, items)
	report := Report{
		Kind: "Report", APIVersion: "fettle.dev/v1alpha1", Host: t.HostName,
		Noop: t.Noop, Started: t.Now(), CatalogDigest: t.Digest,
	}
	for _, refused := range t.Refused {
		r.tell(refused)
	}
	r.recordSecrets(ctx)
	ctx, done := r.preRun(ctx)
	defer done()
	r.interrupted = func() error { return context.Cause(ctx) }
	for {
		n, ok := r.queue.Pop()
		if ok {
			r.step(ctx, r.entries[n])
		} else if !r.revive() {
			break
		}
	}
	if r.stopped == nil {
		r.findUndone(host.UntilAbort(ctx))
		r.findUndoneChildren(host.UntilAbort(ctx))
	}
	report.Resources = r.reports
	report.Duration = Duration(t.Now().Sub(report.Started))
	report.Counts = r.quiet
	report.finish()
	report.measure(t.Before)
	if r.stopped != nil {
		report.Fail("the run was stopped before its end" + because(r.stopped))
	}
	return report, r.forget()
}

// plans reports whether the run has nothing to change a host with.
func (t Transaction) plans() bool { return t.Host == nil }

// tell reports a resource that has ended.
func (r *run) tell(res ResourceReport) {
	r.reports = append(r.reports, res)
	if r.Observe != nil {
		r.Observe(res)
	}
}

// run is the state of one run.
type run struct {
	Transaction
	plan    *plan
	queue   *graph.Queue
	entries []*entry
	reports []ResourceReport
	reader  resource.Reader
	// interrupted returns why the run has to stop, or nil.
	interrupted func() error

	location  *time.Location // of the host, once it is known
	generated []resource.Ref // whose values are remembered
	quiet     Counts         // generated resources that are in sync: they have no report

	ahead      foresight
	provided   map[wish]resource.Resource // one that has its provider
	made       map[key]bool               // what would be there by now, had the run not only reported
	deferred   []int                      // no provider yet; asked again once something changed
	progress   bool                       // something was written since they were asked last
	writes     int                        // so far
	effects    []sideEffect               // in their order
	stopped    error                      // why the run ended before a resource had its turn
	identified identities                 // nil before the first change
	generators []generator                // in their order
	brought    map[key]broughtAlong       // by kind and identity: what was changed
	final      bool                       // nothing more can change: what has no provider fails
}

// entry is one resource of the run.
type entry struct {
	resource.Item
	node       int
	thing      resource.Ref // see [resource.Item.Thing]: what is remembered, is by it
	situation  Situation
	comparison resource.Comparison
	report     ResourceReport
	began      time.Time
	took       time.Duration // to read it, or its share of reading many
	asked      int           // one more than the writes before a provider was last looked for; 0 before
	identity   string        // what its provider tells it apart by; "" if unknown
	reported   int           // the place of its report
	looked     bool          // its state was read and compared
	pending    bool          // would be changed, or may be once others are
	readAt     int           // one more than the writes before it was read last; 0 before
	readErr    error         // of that
	writtenAt  int           // the writes up to its own last one, or that of what it comes after; 0 for none
	bad        bool          // failed, or skipped because of a failure
	done       bool          // has its report
	due        bool          // a refresh of it is noted on disk
	claim      *claim.Claim
	told       string // what the provider told since the last event
}

func newRun(t Transaction, items []resource.Item) *run {
	r := &run{Transaction: t, plan: newPlan(items), reports: make([]ResourceReport, 0, len(t.Refused)+len(items)), provided: map[wish]resource.Resource{}, made: map[key]bool{}, brought: map[key]broughtAlong{}}
	if !t.plans() {
		r.Reader = t.Host
	}
	r.reader = r.call().Reader(r.Reader)
	r.queue = r.plan.graph.Queue()
	r.entries = make([]*entry, 0, len(items))
	armed := t.Store.Armed()
	for i, item := range items {
		e := &entry{Item: item, node: i, thing: item.Thing()}
		e.report.Ref = Ref(item.Ref)
		e.situation = Situation{
			Unselected: t.Selected != nil && !t.Selected(item),
			Cycle:      r.plan.cycles[i],

			Unscheduled: item.Postponed,
			Invalid:     errors.Join(item.Invalid, r.plan.dangling[i]),
			Noop:        t.Noop,
		}
		e.situation.Events.Real = armed[e.thing]
		if item.Resource != nil { // armed when nothing was known of it
			e.situation.Events.Real += armed[resource.UnboundThing(item.Ref)]
		}
		e.due = e.situation.Events.Real > 0
		if item.Noop != nil && !t.plans() {
			e.situation.Noop = *item.Noop
		}
		r.entries = append(r.entries, e)
	}
	return r
}

// revive gives the deferred another turn: after progress, or for the last time.
func (r *run) revive() bool {
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

// step takes a resource, and all that can be written together with it, to its end.
func (r *run) step(ctx context.Context, first *entry) {
	if r.prepare(ctx, first) {
		r.deferred = append(r.deferred, first.node)
		return
	}
	// A resource in hand is finished even when the run is to stop.
	inHand := host.UntilAbort(ctx)
	r.begin([]*entry{first})
	r.read(inHand, first)
	group := []*entry{first}
	for _, n := range r.company(ctx, first) {
		r.read(inHand, r.entries[n])
		group = append(group, r.entries[n])
	}
	began := r.Now()
	r.begin(group)
	r.write(inHand, group)
	share := r.Now().Sub(began) / time.Duration(len(group))
	for _, e := range group {
		e.began = r.Now().Add(-e.took - share)
		r.settle(inHand, e)
		r.generate(ctx, e)
		r.finish(e)
	}
}

// begin tells of what is in hand.
func (r *run) begin(group []*entry) {
	if r.Begin == nil {
		return
	}
	refs := make([]resource.Ref, len(group))
	for i, e := range group {
		refs[i] = e.Ref
	}
	r.Begin(refs)
}

// prepare fills in what is known before reading. It reports whether to wait for a
// provider that may yet come.
func (r *run) prepare(ctx context.Context, e *entry) (wait bool) {
	s := &e.situation
	if ctx.Err() != nil {
		s.Stopped = context.Cause(ctx)
		r.stopped = s.Stopped
	}
	r.schedule(e)
	s.FailedDeps = nil
	for _, n := range r.plan.before[e.node] {
		if r.entries[n].bad {
			s.FailedDeps = append(s.FailedDeps, r.entries[n].Ref)
		}
	}
	if s.NoProvider == nil && refusal(*s).Action != Keep {
		return false
	}
	r.choose(e)
	none, missing := errors.AsType[*resource.NoProviderError](s.NoProvider)
	if !missing || none.Final {
		return false
	}
	if r.final {
		r.awaitAny(e)
	}
	return !r.final
}

// choose looks for a provider until there is one, but not twice while nothing is written.
func (r *run) choose(e *entry) {
	s := &e.situation
	if e.Resource == nil || e.asked > 0 && (s.NoProvider == nil || e.asked == r.writes+1) {
		return
	}
	e.asked = r.writes + 1
	s.NoProvider = resource.Guarded(func() error { return r.provide(e) })
	if s.NoProvider != nil {
		return
	}
	e.report.Provider = e.Resource.Provider()
	s.Unsupported = e.Resource.Unsupported()
	s.CanRefresh = e.Resource.CanRefresh()
}

// A wish is which provider a resource asks for.
type wish struct{ kind, provider string }

// provide chooses a provider, the one that was found for another resource with the same
// wish if nothing was written since.
func (r *run) provide(e *entry) error {
	w := wish{e.Ref.Kind, e.Provider}
	if other, ok := r.provided[w]; ok && bound.ChooseAs(e.Resource, other) {
		return nil
	}
	err := e.Resource.Choose(r.Facts, r.reader, e.Provider)
	if err == nil {
		r.provided[w] = e.Resource
	}
	return err
}

// disturb is called before each write: what was seen of the host may change.
func (r *run) disturb() {
	r.progress = true
	r.writes++
	r.ahead.disturb()
	clear(r.provided)
}

// batches reports whether others may be written together with a resource.
func (r *run) batches(e *entry) bool {
	return refusal(e.situation).Action == Keep && e.Resource.CanBatchWrite()
}

// company takes what is ready and can be written together with a resource, or would be.
func (r *run) company(ctx context.Context, first *entry) []int {
	if len(first.situation.Changes) == 0 || !r.batches(first) {
		return nil
	}
	joins := func(n int) bool { return r.joins(ctx, first, r.entries[n]) }
	if limit := first.Resource.BatchLimit(); limit > 0 {
		return r.queue.PopRow(first.node, limit-1, joins)
	}
	return r.queue.PopAll(joins)
}

// joins reports whether a ready resource can be written together with the first.
func (r *run) joins(ctx context.Context, first, e *entry) bool {
	if e.Ref.Kind != first.Ref.Kind || r.prepare(ctx, e) {
		return false
	}
	return r.batches(e) && e.report.Provider == first.report.Provider
}

// forget drops what is remembered of things that no resource is about, unless the run only
// looks at what would be, and saves the rest.
func (r *run) forget() error {
	if !r.Noop {
		r.Store.Retain(r.remembered())
	}
	if err := r.Store.Commit(); err != nil {
		return fmt.Errorf("cannot save the state of the run: %w", err)
	}
	return nil
}

// remembered tells the things that stay in the store: those that a resource is about and,
// where it is not known what one is about, all of its kind.
func (r *run) remembered() func(thing resource.Ref) bool {
	things := make(map[resource.Ref]bool, len(r.entries))
	for _, thing := range r.generated {
		things[thing] = true
	}
	doubts := map[string]bool{}
	for _, e := range r.entries {
		if e.Resource == nil {
			doubts[e.Ref.Kind] = true
		}
		if !e.report.Gone {
			things[e.thing] = true
		}
	}
	for _, ref := range r.unaccounted() {
		doubts[ref.Kind] = true
	}
	return func(thing resource.Ref) bool {
		return doubts[thing.Kind] || things[thing]
	}
}
