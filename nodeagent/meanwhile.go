package nodeagent

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// meanwhileKinds are the kinds whose drift is corrected while a command of another resource runs. They are read and
// changed in a moment.
func meanwhileKinds() []string { return []string{"File", "Group", "User"} }

// patience is how long a command takes before the resources that wait for their turn behind it are checked for drift that
// happened before the run: a shorter command delays nothing.
const patience = time.Second

// correctMeanwhile corrects drift while a command of a run goes on, until done is closed. It is called from the agent's
// goroutine, and handles only events that don't need the run to end.
func (a *Agent) correctMeanwhile(ctx context.Context, done <-chan struct{}, aside engine.Aside) {
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
	if len(drifted) == 0 || state.Disabled(a.StateDir) != nil { // since the run began
		return
	}
	result, err := aside.Run(ctx, drifted)
	result.Attribute(a.lookout.Author)
	a.runner.warnUnwatched(a.lookout.EndAside(a.Clock.Now(), result.Changed()))
	if err != nil {
		a.Log.Error("the state after a correction was not saved", "error", err)
	}
	if ctx.Err() != nil {
		return // the next start reports it
	}
	a.updateStatus(nil, &status.Run{
		Report: result, Generation: a.target.Generation, Trigger: v1alpha1.TriggerDrift, Withheld: a.target.Spec.Withheld, Partial: true,
	})
}
