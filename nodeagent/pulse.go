package nodeagent

import (
	"fmt"
	"sync/atomic"
	"time"
)

// stuckAfter is how long an agent may be busy with one thing before it counts as stuck.
// All that it calls has a limit of its own, the longest of which, a package operation
// behind another's lock, is far below.
const stuckAfter = 2 * time.Hour

// A pulse says since when a loop is busy with one thing. Safe for concurrent use; the
// zero pulse is at rest.
type pulse struct {
	since atomic.Int64 // in Unix nanoseconds; 0 at rest
}

func (p *pulse) busy(now time.Time) { p.since.Store(now.UnixNano()) }

func (p *pulse) rest() { p.since.Store(0) }

// alive is an error when the loop has been busy with one thing for too long.
func (p *pulse) alive(now time.Time) error {
	since := p.since.Load()
	if busy := now.Sub(time.Unix(0, since)); since != 0 && busy > stuckAfter {
		return fmt.Errorf("the agent has been busy with one thing for %s, more than %s: it is stuck", busy.Round(time.Second), stuckAfter)
	}
	return nil
}
