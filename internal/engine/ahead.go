package engine

import (
	"context"
	"runtime"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
)

// foresight is how far a run reads ahead. As long as nothing is written, what a resource
// will find at its turn is there to be seen, and many can be read next to each other;
// with the first write all of that is void.
type foresight struct {
	window int  // how many resources to read at once
	calm   bool // nothing was written since
}

// Bounds of the window: a run in sync soon reads in the largest, one that changes
// everything one by one. The largest bounds how many contents are in memory.
const (
	firstWindow   = 64
	largestWindow = 128
)

// widen is called before each new window.
func (f *foresight) widen() {
	switch {
	case f.window == 0:
		f.window = firstWindow
	case f.calm:
		f.window = min(2*f.window, largestWindow)
	}
	f.calm = true
}

// disturb has fewer be read at once: something was written.
func (f *foresight) disturb() {
	f.calm = false
	f.window = max(f.window/4, 1)
}

// readAhead reads a resource and some of those that come later in the catalog. What can't
// be read is read again at its turn, to fail then.
func (r *run) readAhead(ctx context.Context, first *entry) {
	if r.holds(first) || !first.Resource.CanReadAhead() {
		return
	}
	r.ahead.widen()
	window := []*entry{first}
	for _, e := range r.entries[first.node+1:] {
		if len(window) >= r.ahead.window {
			break
		}
		if r.foreseeable(e) {
			window = append(window, e)
		}
	}
	if len(window) == 1 {
		return
	}
	began := r.Now()
	r.readTogether(ctx, window)
	share := r.Now().Sub(began) / time.Duration(len(window))
	for _, e := range window {
		e.took += share
	}
}

func (r *run) foreseeable(e *entry) bool {
	if e.done || e.Resource == nil || !e.Resource.CanReadAhead() || r.holds(e) || refusal(e.situation).Action != Keep {
		return false
	}
	r.choose(e)
	return refusal(e.situation).Action == Keep
}

// readTogether reads resources of one kind while nothing is written: next to each other,
// where that is possible. The errors are parallel to them.
func (r *run) readTogether(ctx context.Context, all []*entry) []error {
	workers := 1
	if len(all) > 0 && all[0].Resource.CanReadAhead() {
		workers = runtime.GOMAXPROCS(0)
	}
	h := r.sharedReader()
	return resource.Together(len(all), workers, func(i int) error { return r.readOne(ctx, h, all[i]) })
}
