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

// correctMeanwhile corrects drift while a command of a run goes on, until done is closed. It is called from the agent's
// goroutine, and handles only events that don't need the run to end.
func (a *Agent) correctMeanwhile(ctx context.Context, done <-chan struct{}, aside engine.Aside) {
	var can map[resource.Ref]bool
	for ctx.Err() == nil {
		if can == nil && !a.lookout.Due().IsZero() {
			can = aside.Resources(meanwhileKinds()...)
		}
		wait := a.Interval
		if due := a.lookout.DueAside(can); !due.IsZero() {
			wait = max(due.Sub(a.Clock.Now()), time.Millisecond) // a command that is done has precedence
		}
		if a.awaitMeanwhile(ctx, done, wait) {
			return
		}
		if due := a.lookout.DueAside(can); !due.IsZero() && !a.Clock.Now().Before(due) {
			a.correctDrift(ctx, aside, can)
		}
	}
}

// awaitMeanwhile waits for an event, and reports whether done is closed.
func (a *Agent) awaitMeanwhile(ctx context.Context, done <-chan struct{}, wait time.Duration) bool {
	timer := a.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case onWritten := <-a.written:
		onWritten()
	case <-a.lookout.Ready():
		a.lookout.See(a.Clock.Now())
	case <-timer.C():
	case <-ctx.Done():
	}
	return false
}

// correctDrift corrects the drift that was seen, and reports it.
func (a *Agent) correctDrift(ctx context.Context, aside engine.Aside, can map[resource.Ref]bool) {
	drifted := a.lookout.BeginAside(a.Clock.Now(), can)
	if state.Disabled(a.StateDir) != nil {
		return // since the run began
	}
	result, err := aside.Run(ctx, drifted)
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
