// Package readahead decides how many resources a run reads at once, before their turn.
//
// As long as nothing is written, a resource finds at its turn what can be seen now. The first write
// makes everything that was read ahead out of date.
package readahead

// A Window is the number of resources to read at once. A run that finds everything in sync soon uses
// the largest, one that changes everything reads one by one. The zero value is ready to use.
type Window struct {
	size      int
	unwritten bool // nothing was written since the window last grew
}

// Bounds of the window. The largest limits how many contents are in memory.
const (
	first   = 64
	largest = 128
)

// Size is the number of resources, 0 before the first call of Grow.
func (w *Window) Size() int { return w.size }

// IsLargest reports whether the run has found much in sync lately, so that the next window will probably be needed as well.
func (w *Window) IsLargest() bool { return w.size == largest }

// Grow is called before each window is read.
func (w *Window) Grow() {
	switch {
	case w.size == 0:
		w.size = first
	case w.unwritten:
		w.size = min(2*w.size, largest)
	}
	w.unwritten = true
}

// Shrink is called before each write.
func (w *Window) Shrink() {
	w.unwritten = false
	w.size = max(w.size/4, 1)
}
