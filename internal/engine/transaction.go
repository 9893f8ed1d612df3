// Package engine implements the transaction: it brings a host to the desired state of a list of
// resources, in dependency order, and reports the changes.
//
// [decide.Decide] is the whole policy, a pure function of a [decide.Situation]. A traversal has the
// effects: it gives one resource after the other its turn, and reads, decides, writes, verifies and
// refreshes in it, since a change may affect the state of later resources. The semantics are those of
// Puppet's transaction; comments note improvements.
//
// What outlives a turn has one owner each: [node] lists them.
package engine

import (
	"context"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/claims"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Transaction configures runs on a host. Either Host or Reader, and Now, are required. The caller must
// ensure that a host has one run at a time.
type Transaction struct {
	// Host is the host that the run changes. If it is nil, the run is a plan: it reads through
	// Reader, reports the changes that an apply would make, regardless of the resources' noop, and
	// writes nothing, neither to the host nor to the Store.
	Host   host.Host
	Reader host.Reader // the host of a plan; nil if Host is set
	// Guard keeps resources from Fettle's own files, and bounds what is read in a [guard.Simulation]: of all resources in a
	// plan, otherwise of those that are in noop.
	Guard guard.Options
	// Bucket stores the contents of replaced files and records which contents are secret. Types
	// that need it fail without it.
	Bucket   resource.Bucket
	Facts    resource.Facts
	Kinds    []resource.Kind // for resources that generate those of other kinds; optional
	HostName string          // for the report
	Digest   string          // of the catalog, for the report
	Noop     bool            // for resources without a noop of their own
	Store    Store           // nil is Forgetful
	// Selected limits the run; nil selects all resources. Other resources are reported as skipped,
	// but do not block their dependents.
	Selected func(resource.Item) bool
	// Before has the durations of steps before the run, for the report: [report.FactGeneration] and
	// [report.ConfigRetrieval]. Optional.
	Before map[string]time.Duration
	// IgnoreSchedules manages resources at any time, regardless of their schedules.
	IgnoreSchedules bool
	// Refused are the reports of withheld resources that were found invalid before the run. They come
	// first in its report.
	Refused []report.ResourceReport
	// Withheld are resources that belong to the host but are missing from the items, including the
	// Refused.
	Withheld []resource.Withheld
	// OwnerUID identifies the object that the catalog comes from. The Deletion policy of an item
	// applies once no item of the same owner manages its object any more; a catalog of another owner
	// deletes nothing by omitting it. "" disables deletions: for items that are not a whole
	// catalog.
	OwnerUID string
	// Trace is called, from the run's goroutine, with a line about the state of each managed
	// property whenever it was compared. Lines are for debugging, contain no secrets and are not
	// escaped. Optional.
	Trace func(line string)
	// Begin is called, from the run's goroutine, with the resources that are handled next,
	// together. Optional.
	Begin func([]resource.Ref)
	// Observe is called, from the run's goroutine, with the report of each resource when it ends.
	// Optional.
	Observe func(report.ResourceReport)
	// Yield is called, from the run's goroutine, before each resource has its turn, with a nil done, and while a Detached
	// command of a resource runs, until which done is open. It may correct drift meanwhile. It should return at once or, with a
	// command, soon after done is closed. Optional.
	Yield func(ctx context.Context, done <-chan struct{}, c Corrector)
	// Plans keeps the plan of the items for the next Correct of the same. Optional.
	Plans *PlanCache
	Now   func() time.Time

	hosts hosts // set by prepared
}

// Run applies items once. When ctx ends, the run finishes the current resource, skips the others
// with the cause as the reason, and fails. The error is one of the store; the report is complete
// nevertheless.
func (t Transaction) Run(ctx context.Context, items []resource.Item) (report.Report, error) {
	t = t.prepared(ctx)
	began := t.Now()
	early := readings{}
	t.readNames(ctx, items, t.hasRelevantName(items), early)
	r := newRun(t, append(slices.Clip(items), t.deletions(ctx, items, early)...), early)
	w := r.traverseAll()
	for _, refused := range t.Refused {
		w.emit(refused)
	}
	r.recordSecrets(ctx)
	ctx, done := w.preRun(ctx)
	defer done()
	r.calls.interrupted = func() error { return context.Cause(ctx) }
	w.walk(ctx)
	w.verifyAtEnd(host.UntilAbort(ctx))
	if !t.Noop {
		r.records.retain(r.order.nodes, w, t.Withheld)
	}
	return w.report(began), r.records.commit()
}

// Correct corrects the drift of some of the items, which a run of all of them has left as they should be, and handles what
// comes after a change if follow says so. It needs no other order, removes nothing that left the catalog, and forgets nothing. Its
// report is Partial: it has only what was handled. Resources with a check before the run wait for a whole one. The error is
// that of Run.
func (t Transaction) Correct(ctx context.Context, items []resource.Item, drifted map[resource.Ref]bool, follow func(resource.Ref) bool) (report.Report, error) {
	t = t.prepared(ctx)
	early := readings{}
	t.readNames(ctx, items, func(i resource.Item) bool { return drifted[i.Ref] && !i.Resource.IsNamed() }, early)
	r := newRun(t, items, early)
	r.calls.interrupted = func() error { return context.Cause(ctx) }
	return r.correct(ctx, drifted, follow)
}

// prepared completes the configuration: its defaults, and the views of the host.
func (t Transaction) prepared(ctx context.Context) Transaction {
	if t.Store == nil {
		t.Store = Forgetful{}
	}
	if t.isPlan() {
		t.Noop, t.Store = true, unchanged{from: t.Store}
	}
	t.hosts.bare = t.Reader
	if !t.isPlan() {
		t.hosts.bare = t.Host
		t.Host = guard.Host(t.Host, t.Guard.Own)
		t.hosts.all = t.Host
	}
	t.hosts.simulated = guard.Simulation(ctx, t.hosts.bare, t.Guard)
	if t.Noop {
		t.hosts.all = t.hosts.simulated
	}
	return t
}

// hosts are views of the host.
type hosts struct {
	bare      host.Reader // for what the run itself reads
	simulated host.Reader // for resources in noop
	all       host.Reader // for what concerns all resources
}

// deletions updates the policies of claims, and returns items for what left the catalog.
func (t Transaction) deletions(ctx context.Context, items []resource.Item, early readings) []resource.Item {
	catalog := claims.Catalog{
		OwnerUID: t.OwnerUID, Items: items, Withheld: t.Withheld, Kinds: t.Kinds, Noop: t.Noop,
	}
	left := catalog.Deletions(t.Store)
	if len(left) > 0 {
		t.readNames(ctx, slices.Concat(items, left), func(i resource.Item) bool { return i.Deletes != nil }, early)
		left = catalog.Unmanaged(t.Store, left)
	}
	catalog.UpdatePolicies(t.Store)
	return left
}

// selects reports whether the run is about a resource.
func (t Transaction) selects(i resource.Item) bool { return t.Selected == nil || t.Selected(i) }

// isNoop reports whether a resource only reports.
func (t Transaction) isNoop(i resource.Item) bool {
	if i.Noop != nil && !t.isPlan() {
		return *i.Noop
	}
	return t.Noop
}

// isPlan reports whether the run has no host to change.
func (t Transaction) isPlan() bool { return t.Host == nil }
