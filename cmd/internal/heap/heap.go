// Package heap sets how often the programs for users collect garbage. It is imported for that alone.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
)

// A run retains most of its allocations until the process ends: collecting garbage at the default rate takes a fifth of its
// processor time. It would begin before main, because libraries that initialize themselves allocate more than the smallest heap.
// So the rate is set when this package is initialized, which is before those libraries, because it imports none of them.
const (
	first = 800 // garbage is first collected at 32 MB, which is 8 times the smallest heap: most runs end before
	later = 400
)

var _ = setRate()

// setRate sets the rate at which garbage is collected, unless the environment does.
func setRate() int {
	if os.Getenv("GOGC") != "" {
		return 0
	}
	runtime.AddCleanup(new([64]byte), collected, first) // which is garbage, and too large to share its memory
	return debug.SetGCPercent(first)
}

// collected sets the rate after the first collection, unless it is no longer the one that was set before.
func collected(before int) {
	if now := debug.SetGCPercent(later); now != before {
		debug.SetGCPercent(now)
	}
}
