// Package engine implements the transaction: it brings a host to the desired state of a list of
// resources, in dependency order, and reports the changes.
//
// [decide.Decide] is the whole policy, a pure function of a [decide.Situation]. [Transaction.Run] has
// the effects: it reads, decides, writes, verifies and refreshes one resource after the other, since
// a change may affect the state of later resources. The semantics are those of Puppet's transaction;
// comments note improvements.
package engine

import (
	"context"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/claims"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Reach is [plan.Reach].
type Reach = plan.Reach

// A Transaction configures a run. Either Host or Reader, and Now, are required. The caller must
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
	// Only makes the run a partial one: of the selected resources, it handles these, and those that come directly after one
	// that it changes. All others are Left in its report, and may come without a Resource: see [Reach]. It removes nothing
	// that left the catalog, and forgets nothing. nil handles all selected resources.
	Only map[resource.Ref]bool
	// Reach is called at the end of a run, from its goroutine. Optional.
	Reach func(Reach)
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
	// applies once no item of the same owner manages its thing any more; a catalog of another owner
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
	// Idle is called, from the run's goroutine, while a Detached command of a resource runs. It should return soon after
	// done is closed, and may meanwhile manage other resources. It is also called before each resource has its turn, with
	// a nil done, and should then return at once or manage what is urgent. Optional.
	Idle func(ctx context.Context, done <-chan struct{}, aside Aside)
	Now  func() time.Time

	hosts hosts // set by Run
}

// Run applies items once. When ctx ends, the run finishes the current resource, skips the others
// with the cause as the reason, and fails. The error is one of the store; the report is complete
// nevertheless.
func (t Transaction) Run(ctx context.Context, items []resource.Item) (report.Report, error) {
	if t.Store == nil {
		t.Store = Forgetful{}
	}
	if t.isPlan() {
		t.Noop, t.Store = true, unchanged{from: t.Store}
	}
	t.guard(ctx)
	read := readings{}
	t.readNames(ctx, items, t.isRelevant(items), read)
	all := slices.Concat(items, t.deletions(ctx, items, read))
	r := newRun(t, all, read)
	r.items = items
	rep := report.Report{
		Kind: "Report", APIVersion: "fettle.dev/v1alpha1", Host: t.HostName,
		Noop: t.Noop, Partial: t.isPartial(), Started: t.Now(), CatalogDigest: t.Digest,
	}
	for _, refused := range t.Refused {
		r.emit(refused)
	}
	r.recordSecrets(ctx)
	ctx, done := r.preRun(ctx)
	defer done()
	r.interrupted = func() error { return context.Cause(ctx) }
	for {
		n, ok := r.queue.Pop()
		if ok {
			r.pause(ctx)
			r.step(ctx, r.entries[n])
		} else if !r.retryDeferred() {
			break
		}
	}
	if r.stopped == nil {
		r.verifyAtEnd(host.UntilAbort(ctx))
		r.verifyGenerated(host.UntilAbort(ctx))
	}
	r.tellReach(all)
	rep.Resources = r.reports
	rep.Duration = report.Duration(t.Now().Sub(rep.Started))
	rep.Counts = r.generatedInSync
	rep.Complete(t.Before)
	if r.stopped != nil {
		rep.Fail("the run was stopped before its end" + decide.StopReason(r.stopped))
	}
	return rep, r.save()
}

// deletions updates the policies of claims, and returns items for what left the catalog.
func (t Transaction) deletions(ctx context.Context, items []resource.Item, read readings) []resource.Item {
	if t.isPartial() {
		return nil
	}
	catalog := claims.Catalog{
		OwnerUID: t.OwnerUID, Items: items, Withheld: t.Withheld, Kinds: t.Kinds, Noop: t.Noop,
	}
	left := catalog.Deletions(t.Store)
	t.readNames(ctx, slices.Concat(items, left), func(i resource.Item) bool { return i.Deletes != nil }, read)
	left = catalog.Unmanaged(t.Store, left)
	catalog.UpdatePolicies(t.Store)
	return left
}

// hosts are views of the host.
type hosts struct {
	bare      host.Reader // for what the run itself reads
	simulated host.Reader // for resources in noop
	all       host.Reader // for what concerns all resources
}

// guard wraps the host.
func (t *Transaction) guard(ctx context.Context) {
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
}

// isPartial reports whether the run handles only some resources of the catalog.
func (t Transaction) isPartial() bool { return t.Only != nil }

// includes reports whether a run handles a resource, whatever it changes before.
func (t Transaction) includes(i resource.Item) bool {
	return (t.Selected == nil || t.Selected(i)) && (t.Only == nil || t.Only[i.Ref])
}

// isPlan reports whether the run has no host to change.
func (t Transaction) isPlan() bool { return t.Host == nil }
