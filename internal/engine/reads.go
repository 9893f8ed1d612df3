package engine

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
)

// A reading is the last read of a resource. The resource itself has the state.
type reading struct {
	in    epoch // 0 before the first
	err   error
	early bool          // before the run, for its name
	took  time.Duration // since its last turn: its share of reading many
}

// reads read resources, several at once where their type can, and know which results still hold.
type reads struct {
	order  order
	epochs *epochs
	calls  *calls
	now    func() time.Time
	named  func(*node) // is called after each read: it may have told a name
	ahead  ahead
}

// hold reports whether the result of the last read is still valid. Errors, and states that were
// read ahead, are valid until something is written. States that were read in a batch are valid until
// a write with side effects, or a write of a dependency.
func (r *reads) hold(n *node) bool {
	switch {
	case n.reading.err != nil:
		return n.Resource.Abilities().BatchRead && n.reading.in == r.epochs.now
	case n.Resource.Traits().ReadAhead || n.reading.early:
		return n.reading.in == r.epochs.now
	}
	return n.reading.in > 0 && n.reading.in >= max(r.epochs.lastEffect(), r.writtenBefore(n))
}

// writtenBefore returns the epoch of the last write of a dependency, or 0.
func (r *reads) writtenBefore(n *node) epoch {
	var last epoch
	for before := range r.order.before(n) {
		last = max(last, before.written)
	}
	return last
}

// one reads one resource.
func (r *reads) one(ctx context.Context, h resource.Reader, n *node) error {
	r.finishAhead()
	return r.record(n, resource.Guarded(func() error { return n.Resource.Read(ctx, h) }))
}

// recordAll records the reads of a group. It returns their errors.
func (r *reads) recordAll(group []*node, errs []error) []error {
	for i, n := range group {
		errs[i] = r.record(n, errs[i])
	}
	return errs
}

// record records a read. It returns its error, which the resource also has.
func (r *reads) record(n *node, err error) error {
	if err != nil {
		err = fmt.Errorf("cannot read the present state: %w", err)
	}
	n.reading = reading{in: r.epochs.now, err: err, took: n.reading.took}
	r.named(n)
	return err
}

// forget makes the last read of a resource invalid: something outside the run has changed it.
func (r *reads) forget(n *node) {
	r.stopAhead()
	n.reading = reading{}
}

// taken records the state of a resource that a provider has stored without a Read.
func (r *reads) taken(n *node) { n.reading = reading{in: r.epochs.now, took: n.reading.took} }

// all reads resources of one kind and provider, all of them in noop or none, as a batch if possible. The errors are
// parallel to them.
func (r *reads) all(ctx context.Context, group []*node) []error {
	if !group[0].Resource.Abilities().BatchRead {
		return r.together(ctx, group)
	}
	r.finishAhead()
	return r.recordAll(group, group[0].Resource.Provider().ReadAll(ctx, r.calls.new().Reader(r.calls.hostOf(group[0])), resourcesOf(group)))
}

// together reads resources, all of them in noop or none, while nothing is written, in parallel if possible. The
// errors are parallel to them.
func (r *reads) together(ctx context.Context, group []*node) []error {
	r.finishAhead()
	return r.recordAll(group, r.inParallel(ctx, group))
}

// inParallel is together without an effect on what is known of the reads.
func (r *reads) inParallel(ctx context.Context, group []*node) []error {
	if len(group) == 0 {
		return nil
	}
	workers := 1
	if group[0].Resource.Traits().ReadAhead {
		workers = runtime.GOMAXPROCS(0)
	}
	h := r.calls.sharedReaderOf(r.calls.hostOf(group[0]))
	return resource.Together(len(group), workers, func(i int) error { return group[i].Resource.Read(ctx, h) })
}
