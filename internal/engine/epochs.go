package engine

import (
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
)

// An epoch is a time of a run in which nothing is written: each write begins a new one. The first one is 1; 0 is before
// the run. What was read in an epoch holds until the next.
type epoch int

// epochs count the writes of a run, and say which resources made them.
type epochs struct {
	now     epoch
	effects []sideEffect // in their order
}

// A sideEffect is a write or a refresh that may have changed more than its resource.
type sideEffect struct {
	in epoch
	by *node
}

// begin begins an epoch. It is called before each write.
func (e *epochs) begin() { e.now++ }

// wrote records that a resource was changed or refreshed in this epoch.
func (e *epochs) wrote(n *node) {
	n.written = e.now
	if n.Resource.Traits().SideEffects {
		e.effects = append(e.effects, sideEffect{e.now, n})
	}
}

// follows records that a resource comes after the writes of others.
func (e *epochs) follows(n *node, last epoch) { n.written = max(n.written, last) }

// lastEffect returns the epoch of the last write with side effects, or 0.
func (e *epochs) lastEffect() epoch {
	if len(e.effects) == 0 {
		return 0
	}
	return e.effects[len(e.effects)-1].in
}

// effectsAfter returns the resources other than n that made writes with side effects after an epoch, the latest first.
func (e *epochs) effectsAfter(at epoch, n *node) []resource.Ref {
	var refs []resource.Ref
	for _, effect := range slices.Backward(e.effects) {
		if effect.in <= at {
			break
		}
		if effect.by != n && !slices.Contains(refs, effect.by.Ref) {
			refs = append(refs, effect.by.Ref)
		}
	}
	return refs
}
