// Package reconcile keeps a host in the state of a catalog: it runs all of it, and corrects drift as soon as the host shows it,
// between two runs and during one. The agent and `fettle apply --watch` share it.
package reconcile

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Catalog is what is applied: resources, bound to their types, and how. The same resources are used for all runs until the catalog
// changes.
type Catalog struct {
	Items       []resource.Item
	Transaction engine.Transaction // without Store and Yield
}

// forget drops what was read of the resources: it would take memory until the next run, which reads it again.
func (c Catalog) forget() {
	for _, item := range c.Items {
		if item.Resource != nil {
			item.Resource.Forget()
		}
	}
}

// An Outcome is that of a run or a correction.
type Outcome struct {
	Report report.Report // empty if there was no run
	// Noticed is when a change on the host was first noticed before it, since the one before; zero if none was.
	Noticed   time.Time
	DuringRun bool // it corrected drift during a run
}

// A Loop runs catalogs and corrects drift. It is not safe for concurrent use: it calls its functions from the goroutine that
// calls its methods. The fields up to Warn are required.
type Loop struct {
	Clock clock.Clock
	// Corrected is called after each correction. The error is that of hostrun.Run.
	Corrected func(Outcome, error)
	Warn      func(error) // is called with the paths that can't be watched

	// Watcher is nil if nothing is watched.
	Watcher *drift.Watcher
	// Wait waits for an event, for a limited time, while a command of a run goes on, and reports whether done is closed. It calls
	// Poll when the Watcher is ready. nil waits for the Watcher alone.
	Wait func(ctx context.Context, done <-chan struct{}, most time.Duration) bool
	// MayCorrect reports whether drift may be corrected during a run. nil is always.
	MayCorrect func() bool

	next  correctable // between two runs
	inRun pacing      // between two resources of a run

	noticed time.Time
}

// correctable says which resources may be corrected by themselves: those that the last run has left in the state that it wanted, and
// thus all that they depend on. The zero value permits none.
type correctable struct {
	settled map[resource.Ref]bool // what may be handled after a change
	kinds   map[resource.Ref]bool // those of correctableKinds
	plans   *engine.PlanCache     // of the corrections
}

// correctableKinds are the kinds whose drift is corrected by itself, before the run that checks everything. A Package is
// not among them: in the middle of an operation of dpkg, its status is not yet what it will be.
func correctableKinds() []string {
	return []string{"File", "Group", "SSHAuthorizedKey", "SystemService", "User"}
}

// Run runs a catalog. prepare returns it, for the state of the host, which it must not retain. The errors are as those of
// hostrun.Run.
func (l *Loop) Run(ctx context.Context, control hostrun.Options, prepare func(engine.Store) Catalog) (Outcome, error) {
	l.next, l.inRun = correctable{}, pacing{}
	noticed := l.takeNoticed()
	result, err := hostrun.Run(ctx, control, func(ctx context.Context, store engine.Store) (report.Report, error) {
		c := prepare(store)
		c.Transaction.Store, c.Transaction.Yield = store, l.yield()
		l.warn(l.Watcher.BeginRun(l.Clock.Now(), c.Items, c.Transaction.Facts))
		result, err := c.Transaction.Run(ctx, c.Items)
		result.Attribute(l.Watcher.Author)
		l.warn(l.Watcher.EndRun(l.Clock.Now(), c.Items, result.Changed()))
		c.forget()
		return result, err
	})
	if err == nil {
		l.Watcher.Corrected(l.Clock.Now(), result.Corrected())
	}
	if err == nil && len(control.Before)+len(control.After) == 0 { // those commands expect a whole run
		l.next = correctableAfter(result)
	}
	return Outcome{Report: result, Noticed: noticed}, err
}

func correctableAfter(result report.Report) correctable {
	c := correctable{map[resource.Ref]bool{}, map[resource.Ref]bool{}, &engine.PlanCache{}}
	for _, r := range result.Resources {
		if r.State == report.Failed || r.State == report.Skipped {
			continue
		}
		ref := resource.Ref(r.Ref)
		c.settled[ref] = true
		if slices.Contains(correctableKinds(), ref.Kind) {
			c.kinds[ref] = true
		}
	}
	return c
}

// Due returns when a run or a correction is due because of changes on the host; the zero time if there were none.
func (l *Loop) Due() time.Time {
	run, correction := l.Watcher.RunDue(), l.Watcher.CorrectionDue(l.next.kinds)
	if run.IsZero() || !correction.IsZero() && correction.Before(run) {
		return correction
	}
	return run
}

// RunDue reports whether a run of everything is due because of changes on the host.
func (l *Loop) RunDue() bool { return isDue(l.Watcher.RunDue(), l.Clock.Now()) }

// CorrectionDue reports whether Correct has something to do.
func (l *Loop) CorrectionDue() bool {
	return isDue(l.Watcher.CorrectionDue(l.next.kinds), l.Clock.Now())
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// Correct corrects the drift that is due, and what comes after the changes. A run of everything follows, and is the next one if
// this fails. It does nothing if no resource that may be corrected has changed.
func (l *Loop) Correct(ctx context.Context, control hostrun.Options, prepare func(engine.Store) Catalog) {
	drifted := l.Watcher.BeginCorrection(l.Clock.Now(), l.next.kinds, false)
	if len(drifted) == 0 {
		return
	}
	noticed := l.takeNoticed()
	result, err := hostrun.Run(ctx, control, func(ctx context.Context, store engine.Store) (report.Report, error) {
		c := prepare(store)
		c.Transaction.Store, c.Transaction.Yield, c.Transaction.Plans = store, l.yield(), l.next.plans
		result, err := c.Transaction.Correct(ctx, c.Items, drifted, func(ref resource.Ref) bool { return l.next.settled[ref] })
		result.Attribute(l.Watcher.Author)
		l.warn(l.Watcher.EndCorrection(l.Clock.Now(), result.Changed(), false))
		c.forget()
		return result, err
	})
	if ctx.Err() != nil {
		return // the next start reports it
	}
	if err != nil || result.Status == "failed" {
		l.next = correctable{}
		l.Watcher.RunNow(l.Clock.Now())
	}
	if err == nil {
		l.Watcher.Corrected(l.Clock.Now(), result.Corrected())
	}
	l.Corrected(Outcome{Report: result, Noticed: noticed}, err)
}

// Poll records the changes on the host. Call it when the Watcher is ready.
func (l *Loop) Poll() {
	now := l.Clock.Now()
	if l.noticed.IsZero() {
		l.noticed = now
	}
	l.Watcher.Poll(now)
}

// takeNoticed returns when a change was noticed first, and forgets it.
func (l *Loop) takeNoticed() time.Time {
	at := l.noticed
	l.noticed = time.Time{}
	return at
}

func (l *Loop) warn(err error) {
	if err != nil {
		l.Warn(err)
	}
}
