// Package heap sets how often the programs for users collect garbage. It is imported for that alone.
package heap

import (
	"os"
	"runtime/debug"
)

// A run retains most of its allocations until the process ends: collecting garbage at the default rate takes a fifth of its
// processor time. It would begin before main, because libraries that initialize themselves allocate more than the smallest heap.
// So the rate is set when this package is initialized, which is before those libraries, because it imports none of them.
var _ = setRate()

// setRate sets the rate at which garbage is collected, unless the environment does.
func setRate() int {
	if os.Getenv("GOGC") != "" {
		return 0
	}
	return debug.SetGCPercent(400)
}
