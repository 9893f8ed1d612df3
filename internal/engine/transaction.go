// Package engine is the transaction: it brings a host to what a list of resources
// says, in dependency order, and reports what it did.
//
// [Decide] is the whole policy, a pure function over a [Situation]. [Transaction.Run]
// has the effects: for each resource it reads, decides, writes, reads again and
// refreshes, because a later resource's state may depend on an earlier one's change.
// The semantics are Puppet's transaction's; where they are better it says so.
package engine

import (
	"context"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/claims"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
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
	Refused []report.ResourceReport
	// Withheld are resources that were left out of the items and belong to the host
	// all the same.
	Withheld []resource.Ref
	// Charter identifies who speaks for the host, such as the object that the catalog comes
	// from. What an item's Deletion says is done once no item of the same charter is about its
	// thing any more: what another one does not have is not gone. "" has nothing done: for items
	// that are no whole catalog.
	OwnerUID string
	// Trace is given the state of each managed property whenever it was compared, as a line
	// for people who debug, without secrets and not escaped. From the run's goroutine. Optional.
	Trace func(line string)
	// Begin is told of the resources that are dealt with next, together, from the run's
	// goroutine. Optional.
	Begin func([]resource.Ref)
	// Observe is told of each resource as it ends, from the run's goroutine. Optional.
	Observe func(report.ResourceReport)
	Now     func() time.Time
}

// Run applies items once. When ctx ends, the resource in hand is finished and the
// rest is skipped, with the cause of that end as the reason: such a run failed. The error
// says that the store failed, which leaves the host and the report as they are.
func (t Transaction) Run(ctx context.Context, items []resource.Item) (report.Report, error) {
	if t.Store == nil {
		t.Store = Forgetful{}
	}
	if t.isPlan() {
		t.Noop, t.Store = true, unchanged{from: t.Store}
	}
	catalog := claims.Catalog{OwnerUID: t.OwnerUID, Items: items, Unknown: t.unknownResources(), Kinds: t.Kinds, Noop: t.Noop}
	catalog.UpdatePolicies(t.Store)
	if deletions := catalog.Deletions(t.Store); len(deletions) > 0 {
		items = slices.Concat(items, deletions)
	}
	r := newRun(t, items)
	rep := report.Report{
		Kind: "Report", APIVersion: "fettle.dev/v1alpha1", Host: t.HostName,
		Noop: t.Noop, Started: t.Now(), CatalogDigest: t.Digest,
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
			r.step(ctx, r.entries[n])
		} else if !r.retryDeferred() {
			break
		}
	}
	if r.stopped == nil {
		r.verifyAtEnd(host.UntilAbort(ctx))
		r.verifyGenerated(host.UntilAbort(ctx))
	}
	rep.Resources = r.reports
	rep.Duration = report.Duration(t.Now().Sub(rep.Started))
	rep.Counts = r.generatedInSync
	rep.Complete(t.Before)
	if r.stopped != nil {
		rep.Fail("the run was stopped before its end" + decide.StopReason(r.stopped))
	}
	return rep, r.save()
}

// isPlan reports whether the run has no host to change.
func (t Transaction) isPlan() bool { return t.Host == nil }

// unknownResources are the resources of the host that are not among the items.
func (t Transaction) unknownResources() []resource.Ref {
	all := slices.Clone(t.Withheld)
	for _, refused := range t.Refused {
		all = append(all, resource.Ref(refused.Ref))
	}
	return all
}
