package nodeagent

import (
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
	since atomic.Int64 // in Unix nanoseconds; 0 while idle
}

func (w *watchdog) busy(now time.Time) { w.since.Store(now.UnixNano()) }

func (w *watchdog) idle() { w.since.Store(0) }

// check returns an error if the loop has been busy with one step for too long.
func (w *watchdog) check(now time.Time) error {
	since := w.since.Load()
	if busy := now.Sub(time.Unix(0, since)); since != 0 && busy > stuckAfter {
		return fmt.Errorf("the agent is stuck: it has been busy with one step for %s, more than %s", busy.Round(time.Second), stuckAfter)
	}
	return nil
}
