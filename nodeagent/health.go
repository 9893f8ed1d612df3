package nodeagent

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// stuckAfter is how long an agent may be busy with one step before it counts as stuck. Every call has its own, much
// shorter limit. The longest is that of a package operation that waits for a lock.
const stuckAfter = 2 * time.Hour

// A watchdog measures how long a loop has been busy with one step. It is safe for concurrent use. The zero watchdog is
// idle.
type watchdog struct {
	// since is nil while idle. It has a monotonic reading: a clock that is set must not make an agent look stuck.
	since atomic.Pointer[time.Time]
}

func (w *watchdog) busy(now time.Time) { w.since.Store(&now) }

func (w *watchdog) idle() { w.since.Store(nil) }

// check returns an error if the loop has been busy with one step for too long.
func (w *watchdog) check(now time.Time) error {
	since := w.since.Load()
	if since == nil {
		return nil
	}
	if busy := now.Sub(*since); busy > stuckAfter {
		return fmt.Errorf("the agent is stuck: it has been busy with one step for %s, more than %s", busy.Round(time.Second), stuckAfter)
	}
	return nil
}

// readiness is why the agent is not ready yet. It is safe for concurrent use. The zero value is an agent whose first run
// has not ended.
type readiness struct {
	ready   atomic.Bool
	failure atomic.Pointer[string]
}

// succeeded marks the agent as ready permanently: rollouts ask whether a new revision works at all.
func (r *readiness) succeeded() { r.ready.Store(true) }

// failed records why a run did not take place.
func (r *readiness) failed(err error) { r.failure.Store(new(err.Error())) }

func (r *readiness) check() error {
	if r.ready.Load() {
		return nil
	}
	if failure := r.failure.Load(); failure != nil {
		return errors.New("no run has finished since the start: " + *failure)
	}
	return errors.New("no run has finished since the start")
}
