package engine

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/internal/resource"
)

// foresight is how far a run reads ahead. As long as nothing is written, what a resource
// will find at its turn is there to be seen, and many can be read next to each other;
// with the first write all of that is void.
type foresight struct {
	window int      // how many resources to read at once
	read   []*entry // whose state was read ahead
	calm   bool     // nothing was written since
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

// disturb makes what was read ahead be read again: something was written.
func (f *foresight) disturb() {
	f.calm = false
	f.window = max(f.window/4, 1)
	for _, e := range f.read {
		e.fresh = false
	}
	f.read = f.read[:0]
}

// readAhead reads a resource and some of those that come later in the catalog. What can't
// be read is read again at its turn, to fail then.
func (r *run) readAhead(ctx context.Context, first *entry) {
	if first.fresh || !first.Resource.CanReadAhead() {
		return
	}
	r.ahead.widen()
	r.ahead.read = append(r.ahead.read[:0], first)
	for _, e := range r.entries[first.node+1:] {
		if len(r.ahead.read) >= r.ahead.window {
			break
		}
		if r.foreseeable(e) {
			r.ahead.read = append(r.ahead.read, e)
		}
	}
	if len(r.ahead.read) > 1 {
		sideBySide(r.ahead.read, r.readEach(resource.Calm(ctx)))
	}
}

func (r *run) foreseeable(e *entry) bool {
	if e.done || e.fresh || e.Resource == nil || !e.Resource.CanReadAhead() || refusal(e.situation).Action != Keep {
		return false
	}
	r.choose(e)
	return refusal(e.situation).Action == Keep
}

func (r *run) readEach(ctx context.Context) func(*entry) {
	return func(e *entry) { _ = r.readOne(ctx, e) }
}

// sideBySide calls f for each entry, on all processors.
func sideBySide(entries []*entry, f func(*entry)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(entries)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)); i = next.Add(1) - 1 {
				f(entries[i])
			}
		})
	}
	group.Wait()
}
