package nodeagent

import (
	"context"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

// quickKinds are the kinds whose drift is corrected by a partial run, before the run that checks everything. A Package is
// not among them: in the middle of an operation of dpkg, its status is not yet what it will be.
func quickKinds() []string {
	return []string{"File", "Group", "SSHAuthorizedKey", "SystemService", "User"}
}

// quick says what partial runs may handle: resources that the last run of the target has left in the state that it wanted,
// and thus all that they depend on. The zero value is nothing.
type quick struct {
	settled map[resource.Ref]bool
	can     map[resource.Ref]bool // those of quickKinds
}

// quickAfter says what partial runs may handle after a run of the target. Where commands run before or after each run, there are
// none.
func (a *Agent) quickAfter(result report.Report) quick {
	if a.runner.hasCommands(a.target) {
		return quick{}
	}
	q := quick{map[resource.Ref]bool{}, map[resource.Ref]bool{}}
	for _, r := range result.Resources {
		if r.State == report.Failed || r.State == report.Skipped {
			continue
		}
		ref := resource.Ref(r.Ref)
		q.settled[ref] = true
		if slices.Contains(quickKinds(), ref.Kind) {
			q.can[ref] = true
		}
	}
	return q
}

// correctQuickly corrects drift by a partial run. A run of everything follows, and is the next one if this one fails.
func (a *Agent) correctQuickly(ctx context.Context) {
	drifted := a.lookout.BeginPartial(a.Clock.Now(), a.quick.can)
	if len(drifted) == 0 {
		return
	}
	a.endSimulation()
	before, noticed := a.failure, a.takeNoticed()
	result, err := a.runner.run(ctx, task{
		Target: a.target, facts: a.known, prev: a.status.Resources, acts: a.acts(), only: drifted, settled: a.quick.settled,
	})
	result.CachedCatalogStatus = a.cachedCatalogStatus()
	if ctx.Err() != nil {
		return // the next start reports it
	}
	if err != nil || result.Status == "failed" {
		a.quick = quick{}
		a.lookout.CheckNow(a.Clock.Now())
	}
	if err != nil {
		a.Ran(RunSummary{Trigger: v1alpha1.TriggerDrift, Report: result, Err: err, Noticed: noticed, Ended: a.Clock.Now()})
		a.onRunError(a.known, err, before)
		return
	}
	a.report(nil, outcome{v1alpha1.TriggerDrift, result, noticed})
}

// urgent is the drift that a run corrects before the turn of the next resource.
type urgent struct {
	can map[resource.Ref]bool
	at  time.Time // when it is due; zero for none
}

// correctUrgent corrects the drift that is due between two resources of a run.
func (a *Agent) correctUrgent(ctx context.Context, aside engine.Aside) {
	select {
	case <-a.lookout.Ready():
		a.notice()
		a.lookout.See(a.Clock.Now())
		a.urgent.can = aside.Resources(meanwhileKinds()...)
		a.urgent.at = a.lookout.DueAside(a.urgent.can)
	default:
	}
	if now := a.Clock.Now(); isDue(a.urgent.at, now) {
		a.correctDrift(ctx, aside, a.lookout.BeginAside(now, a.urgent.can))
		a.urgent.at = a.lookout.DueAside(a.urgent.can)
	}
}

// meanwhileKinds are the kinds whose drift is corrected while a command of another resource runs. They are read and
// changed in a moment.
func meanwhileKinds() []string { return []string{"File", "Group", "User"} }

// patience is how long a command takes before the resources that wait for their turn behind it are checked for drift that
// happened before the run: a shorter command delays nothing.
const patience = time.Second

// correctMeanwhile corrects drift between two resources of a run, or while a command of one goes on, until done is closed.
// It is called from the agent's goroutine, and handles only events that don't need the run to end.
func (a *Agent) correctMeanwhile(ctx context.Context, done <-chan struct{}, aside engine.Aside) {
	if done == nil {
		a.correctUrgent(ctx, aside)
		return
	}
	check := a.Clock.Now().Add(patience) // of earlier drift; zero after it
	var can map[resource.Ref]bool
	for ctx.Err() == nil {
		if can == nil && !a.lookout.Due().IsZero() {
			can = aside.Resources(meanwhileKinds()...)
		}
		wait := a.Interval
		if due := earliest(check, a.lookout.DueAside(can)); !due.IsZero() {
			wait = max(due.Sub(a.Clock.Now()), time.Millisecond) // a command that is done has precedence
		}
		if a.awaitMeanwhile(ctx, done, wait) {
			return
		}
		now := a.Clock.Now()
		if isDue(check, now) {
			check = time.Time{}
			a.correctDrift(ctx, aside, a.lookout.Earlier(aside.Waiting(meanwhileKinds()...)))
		}
		if isDue(a.lookout.DueAside(can), now) {
			a.correctDrift(ctx, aside, a.lookout.BeginAside(now, can))
		}
	}
}

// earliest returns the earlier of two times. The zero time means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func isDue(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// awaitMeanwhile waits for an event, and reports whether done is closed.
func (a *Agent) awaitMeanwhile(ctx context.Context, done <-chan struct{}, wait time.Duration) bool {
	timer := a.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case onWritten := <-a.written:
		onWritten()
	case <-a.unseen():
		a.seeNodeCatalog()
	case <-a.lookout.Ready():
		a.notice()
		a.lookout.See(a.Clock.Now())
	case <-timer.C():
	case <-ctx.Done():
	}
	return false
}

// unseen receives when the watch reports the NodeCatalog to an agent that has not seen it yet.
func (a *Agent) unseen() <-chan struct{} {
	if a.object != nil {
		return nil
	}
	return a.objects.ready
}

// seeNodeCatalog makes reports possible in a run that began before the agent reached its cluster. What the
// NodeCatalog asks for is handled after the run.
func (a *Agent) seeNodeCatalog() {
	nc := a.objects.take()
	a.adoptStatus(nc)
	a.object = nc
	a.objects.remind()
	a.publishStatus()
}

// correctDrift corrects the drift of resources, and reports it.
func (a *Agent) correctDrift(ctx context.Context, aside engine.Aside, drifted map[resource.Ref]bool) {
	if len(drifted) == 0 || a.whyDisabled() != "" { // since the run began
		return
	}
	noticed := a.takeNoticed()
	result, err := aside.Run(ctx, drifted)
	result.Attribute(a.lookout.Author)
	result.CachedCatalogStatus = a.cachedCatalogStatus()
	a.runner.warnUnwatched(a.lookout.EndAside(a.Clock.Now(), result.Changed()))
	if err != nil {
		a.Log.Error("the state after a correction was not saved", "error", err)
	}
	if ctx.Err() != nil {
		return // the next start reports it
	}
	a.report(nil, outcome{v1alpha1.TriggerDrift, result, noticed})
}
