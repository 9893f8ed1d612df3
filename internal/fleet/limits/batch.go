// Package limits bounds how often things happen: it batches changes, limits what a node's reports
// may cause, and backs off from writes that the API server rejects.
//
// Times are parameters, so that callers own the clock. Types are safe for concurrent use, and their
// zero values are ready, unless they say otherwise.
package limits

import (
	"sync"
	"time"
)

// Debounce is the time in which further changes join a batch: a wave of agents that report,
// or `kubectl apply` of a folder.
const Debounce = 100 * time.Millisecond

// maxBatch is the longest time that a batch stays open while changes keep coming.
const maxBatch = 2 * time.Second

// A BatchWindow groups changes by people that follow one another, as when they apply a folder.
// Half a folder would have nodes updated twice, and resources Stalled because what they refer
// to comes with the other half.
type BatchWindow struct {
	mu          sync.Mutex
	first, last time.Time
}

// Extend adds a change, which keeps the window open or opens it.
func (b *BatchWindow) Extend(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.last) >= Debounce {
		b.first = now
	}
	b.last = now
}

// Left returns the time until the batch closes, 0 if it is closed.
func (b *BatchWindow) Left(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, min(b.last.Add(Debounce).Sub(now), b.first.Add(maxBatch).Sub(now)))
}

// A Wait is the earliest of several times to come back; 0 is never.
type Wait time.Duration

// Add takes another time into account; 0 is none.
func (w *Wait) Add(d time.Duration) {
	if d > 0 && (*w == 0 || d < time.Duration(*w)) {
		*w = Wait(d)
	}
}
