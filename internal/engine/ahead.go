package engine

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/readahead"
)

// ahead are the reads of resources before their turns, in windows. As long as nothing is written, the next window is read while the
// resources of one have their turns. What was read is only recorded by the goroutine of the run.
type ahead struct {
	window readahead.Window
	group  []*node        // the last window
	errs   <-chan []error // of the group, while it is being read; nil before and after
	cancel context.CancelFunc
}

// readAhead reads a resource and some of the later ones that candidate accepts, unless it is already read. A failed read is
// repeated at the resource's turn.
func (r *reads) readAhead(ctx context.Context, first *node, candidate func(*node) bool) {
	if r.hold(first) || !first.Resource.Traits().ReadAhead {
		return
	}
	if r.finishAhead(); !r.hold(first) {
		r.beginAhead(ctx, r.windowOf(first.index, first.noop, candidate))
		r.finishAhead()
	}
	if n := len(r.ahead.group); n > 0 && r.ahead.window.IsLargest() {
		r.beginAhead(ctx, r.windowOf(r.ahead.group[n-1].index+1, first.noop, candidate))
	}
}

// windowOf returns the resources of the next window, from an index on.
func (r *reads) windowOf(from int, noop bool, candidate func(*node) bool) []*node {
	r.ahead.window.Grow()
	group := make([]*node, 0, r.ahead.window.Size())
	for _, n := range r.order.nodes[from:] {
		if len(group) == cap(group) {
			break
		}
		if n.noop == noop && n.Resource != nil && n.Resource.Traits().ReadAhead && !r.hold(n) && candidate(n) {
			group = append(group, n)
		}
	}
	return group
}

// beginAhead begins to read a window. One of a single resource is left to its turn.
func (r *reads) beginAhead(ctx context.Context, group []*node) {
	if r.ahead.group = group; len(group) < 2 {
		r.ahead.group = nil
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	errs := make(chan []error, 1)
	r.ahead.errs, r.ahead.cancel = errs, cancel
	go func() { errs <- r.inParallel(ctx, group) }()
}

// finishAhead waits for the window that is being read, if any.
func (r *reads) finishAhead() {
	if r.ahead.errs == nil {
		return
	}
	began := r.now()
	errs := <-r.ahead.errs
	r.ahead.cancel()
	r.ahead.errs = nil
	r.recordAll(r.ahead.group, errs)
	share := r.now().Sub(began) / time.Duration(len(r.ahead.group))
	for _, n := range r.ahead.group {
		n.reading.took += share
	}
}

// stopAhead interrupts the window that is being read, if any, since it is not needed any more.
func (r *reads) stopAhead() {
	if r.ahead.errs == nil {
		return
	}
	r.ahead.cancel()
	<-r.ahead.errs
	r.ahead.errs = nil
}
