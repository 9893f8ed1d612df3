package reconcile

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
)

// kindsDuringRun are the kinds whose drift is corrected during a run. They are read and changed in a moment.
func kindsDuringRun() []string { return []string{"File", "Group", "User"} }

// earlierDriftDelay is how long a command takes before the resources that wait for their turn behind it are checked for drift that
// happened before the run: a shorter command delays nothing.
const earlierDriftDelay = time.Second

// pacing is the drift that is waiting between two resources of a run.
type pacing struct {
	can map[resource.Ref]bool
	due time.Time // zero for none
}

// yield returns what a run calls between two resources, and while a command goes on; nil if nothing is watched.
func (l *Loop) yield() func(context.Context, <-chan struct{}, engine.Corrector) {
	if l.Watcher == nil {
		return nil
	}
	return func(ctx context.Context, done <-chan struct{}, c engine.Corrector) {
		if done == nil {
			l.correctBetween(ctx, c)
		} else {
			l.correctMeanwhile(ctx, done, c)
		}
	}
}

// correctBetween corrects the drift that is due between two resources.
func (l *Loop) correctBetween(ctx context.Context, c engine.Corrector) {
	select {
	case <-l.Watcher.Ready():
		l.Poll()
		l.inRun.can = c.Correctable(kindsDuringRun()...)
		l.inRun.due = l.Watcher.CorrectionDue(l.inRun.can)
	default:
	}
	if now := l.Clock.Now(); isDue(l.inRun.due, now) {
		l.correctDuringRun(ctx, c, l.Watcher.BeginCorrection(now, l.inRun.can, true))
		l.inRun.due = l.Watcher.CorrectionDue(l.inRun.can)
	}
}

// correctMeanwhile corrects drift while a command goes on, until done is closed.
func (l *Loop) correctMeanwhile(ctx context.Context, done <-chan struct{}, c engine.Corrector) {
	check := l.Clock.Now().Add(earlierDriftDelay) // zero after it
	var can map[resource.Ref]bool
	for ctx.Err() == nil {
		if can == nil && !l.Watcher.RunDue().IsZero() {
			can = c.Correctable(kindsDuringRun()...)
		}
		if l.wait(ctx, done, l.until(check, l.Watcher.CorrectionDue(can))) {
			return
		}
		now := l.Clock.Now()
		if isDue(check, now) {
			check = time.Time{}
			l.correctDuringRun(ctx, c, l.Watcher.BeginEarlier(c.Waiting(kindsDuringRun()...)))
		}
		if isDue(l.Watcher.CorrectionDue(can), now) {
			l.correctDuringRun(ctx, c, l.Watcher.BeginCorrection(now, can, true))
		}
	}
}

// longestWait is how long to wait if nothing is due.
const longestWait = time.Hour

// until returns how long to wait for the earliest of some times, of which zero means never. A command that is done has precedence.
func (l *Loop) until(times ...time.Time) time.Duration {
	wait := longestWait
	for _, at := range times {
		if !at.IsZero() {
			wait = min(wait, max(at.Sub(l.Clock.Now()), time.Millisecond))
		}
	}
	return wait
}

func (l *Loop) wait(ctx context.Context, done <-chan struct{}, most time.Duration) bool {
	if l.Wait != nil {
		return l.Wait(ctx, done, most)
	}
	timer := l.Clock.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-l.Watcher.Ready():
		l.Poll()
	case <-timer.C():
	case <-ctx.Done():
	}
	return false
}

// correctDuringRun corrects the drift of resources.
func (l *Loop) correctDuringRun(ctx context.Context, c engine.Corrector, drifted map[resource.Ref]bool) {
	if len(drifted) == 0 || l.MayCorrect != nil && !l.MayCorrect() {
		return
	}
	noticed := l.takeNoticed()
	result, err := c.Correct(ctx, drifted)
	result.Attribute(l.Watcher.Author)
	l.warn(l.Watcher.EndCorrection(l.Clock.Now(), result.Changed(), true))
	if ctx.Err() == nil { // otherwise the next start reports it
		l.Watcher.Corrected(l.Clock.Now(), result.Corrected())
		l.Corrected(Outcome{result, noticed, true}, err)
	}
}
