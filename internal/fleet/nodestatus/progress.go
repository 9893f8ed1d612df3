package nodestatus

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Progress is what a node has yet to apply.
type Progress struct {
	All  bool                     // everything
	Some [][]v1alpha1.ResourceRef // these resources, in sorted lists that nodes share
}

// Pending reports whether a node has yet to apply a resource.
func (p Progress) Pending(ref v1alpha1.ResourceRef) bool {
	return p.All || slices.ContainsFunc(p.Some, func(refs []v1alpha1.ResourceRef) bool {
		_, found := slices.BinarySearch(refs, ref)
		return found
	})
}

// A ProgressTracker tracks what each node has yet to apply. A node reports only the digest of the last spec that it applied. The tracker
// remembers which resources changed since then, so that a change of one resource does not make all others of the node look unapplied. A
// node that it does not know, as after a start, has yet to apply everything. The zero value knows none. It is not safe for concurrent use.
type ProgressTracker struct{ nodes map[string]*trackedNode }

// A trackedNode had applied a spec with a digest, and has since been given changes.
type trackedNode struct {
	applied string
	changes []change // in order
}

type change struct {
	digest string // of the spec after it
	refs   []v1alpha1.ResourceRef
}

// maxChanges is the number of changes that are distinguished. A node that is further behind is
// away, and applies none of them.
const maxChanges = 16

// Start makes a node known that has applied a spec, unless it is known. Changed says what differs
// in its desired spec.
func (t *ProgressTracker) Start(name, applied string) (started bool) {
	if t.nodes[name] != nil {
		return false
	}
	if t.nodes == nil {
		t.nodes = map[string]*trackedNode{}
	}
	t.nodes[name] = &trackedNode{applied: applied}
	return true
}

// Changed records that the desired spec of a node has another digest, and which resources changed,
// possibly none. It keeps refs, which are sorted, and which many
// nodes may share.
func (t *ProgressTracker) Changed(name, digest string, refs []v1alpha1.ResourceRef) {
	n := t.nodes[name]
	if n == nil {
		return
	}
	n.changes = append(n.changes, change{digest, refs})
	if len(n.changes) > maxChanges {
		merged := slices.Concat(n.changes[0].refs, n.changes[1].refs)
		slices.Sort(merged)
		n.changes[1].refs = slices.Compact(merged)
		n.changes = slices.Delete(n.changes, 0, 1)
	}
}

// Observe returns the progress of a node by the digest that it reports as applied. current says
// that this is its desired spec: one that was changed and changed back has the same digest.
func (t *ProgressTracker) Observe(name, applied string, current bool) Progress {
	if current {
		t.Start(name, applied)
	}
	n := t.nodes[name]
	if n == nil {
		return Progress{All: true}
	}
	done := slices.IndexFunc(n.changes, func(c change) bool { return c.digest == applied })
	switch {
	case current:
		done = len(n.changes) - 1
	case applied == n.applied:
		done = -1
	case done < 0:
		return Progress{All: true}
	}
	if n.applied = applied; done >= 0 {
		n.changes = slices.Clone(n.changes[done+1:])
	}
	var p Progress
	for _, c := range n.changes {
		p.Some = append(p.Some, c.refs)
	}
	return p
}

// Retain forgets nodes for which exists is false.
func (t *ProgressTracker) Retain(exists func(node string) bool) {
	for name := range t.nodes {
		if !exists(name) {
			delete(t.nodes, name)
		}
	}
}
