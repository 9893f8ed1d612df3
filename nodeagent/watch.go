package nodeagent

import (
	"context"
	"errors"
	"time"

	"github.com/fettle-dev/fettle/internal/drift"
)

// watchHost watches the host for drift and for disabled runs, as far as it does not yet. The kernel limits the watches of all
// processes of a user together, so it may fail now and work later: each run tries again.
func (a *Agent) watchHost() error {
	var errs []error
	if a.Watch && a.loop.Watcher == nil {
		watcher, err := drift.New(a.watched, a.Interval)
		if errs = append(errs, err); err == nil {
			a.loop.Watcher = watcher
		}
	}
	if a.disabled == nil {
		disabled, err := watchDisabled(a.watched, a.HostStateDir)
		if errs = append(errs, err); err != nil {
			disabled.close()
		} else {
			a.disabled = disabled
		}
	}
	return errors.Join(errs...)
}

func (a *Agent) warnUnwatched(err error) {
	a.Log.Warn("drift there is corrected only at the interval", "error", err)
}

// awaitCommand waits for an event that needs no end of the run, while a command goes on, and reports whether that is done.
func (a *Agent) awaitCommand(ctx context.Context, done <-chan struct{}, most time.Duration) bool {
	timer := a.Clock.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case onWritten := <-a.written:
		onWritten()
	case <-a.firstNodeCatalog():
		a.onFirstNodeCatalog()
	case <-a.loop.Watcher.Ready():
		a.loop.Poll()
	case <-timer.C():
	case <-ctx.Done():
	}
	return false
}

// firstNodeCatalog receives when the watch reports the NodeCatalog to an agent that has not seen it yet.
func (a *Agent) firstNodeCatalog() <-chan struct{} {
	if a.object != nil {
		return nil
	}
	return a.objects.ready
}

// onFirstNodeCatalog makes reports possible in a run that began before the agent reached its cluster. What the
// NodeCatalog asks for is handled after the run.
func (a *Agent) onFirstNodeCatalog() {
	nc := a.objects.take()
	a.adopt(nc)
	a.object = nc
	a.objects.notify()
	a.publishStatus()
}

// earliest returns the earlier of two times. The zero time means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
