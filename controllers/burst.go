package controllers

import (
	"sync"
	"time"
)

// settle is how long a pass waits for more of what made it necessary: `kubectl apply`
// of a folder, a wave of agents that report.
const settle = 100 * time.Millisecond

// longestBurst is how long a pass waits at most while one change follows another.
const longestBurst = 2 * time.Second

// A burst is changes by people that come one right after another, as when they apply a folder.
// Half of it would have nodes told twice, and resources Stalled for want of what comes with
// the other half. The zero value is over. Safe for concurrent use.
type burst struct {
	mu          sync.Mutex
	first, last time.Time
}

// note takes a change.
func (b *burst) note(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.last) >= settle {
		b.first = now
	}
	b.last = now
}

// left is how long to wait for its end; 0 where it is over.
func (b *burst) left(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, min(b.last.Add(settle).Sub(now), b.first.Add(longestBurst).Sub(now)))
}
