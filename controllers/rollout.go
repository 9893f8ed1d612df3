package controllers

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// A rollout knows what nodes have yet to apply. It is kept from pass to pass so that a
// change of one resource does not make all others of the node look unsettled. What it
// does not know, as after a start, it takes for not applied.
type rollout struct{ nodes map[string]*nodeRollout }

type nodeRollout struct {
	base    string // the digest that the node had applied when it last was up to date; "" for never
	dirty   map[v1alpha1.ResourceRef]bool
	changes int // counts those of the two above
}

// changed notes what differs between two compilations.
func (r *rollout) changed(before, now *compilation) {
	r.gone(before, now)
	var differ catalog.Differ
	for name, n := range r.nodes {
		is := now.result.Nodes[name]
		if is == nil {
			delete(r.nodes, name)
			continue
		}
		if was := before.result.Nodes[name]; was != nil && was != is && was.Digest != is.Digest {
			n.note(differ.Between(was, is))
		}
	}
}

// gone notes resources that went away where they were withheld: they may have been applied
// before.
func (r *rollout) gone(before, now *compilation) {
	for ref := range before.resources {
		if _, stays := now.resources[ref]; stays {
			continue
		}
		for _, name := range before.result.Selected[ref] {
			if n := r.nodes[name]; n != nil && before.result.Nodes[name].EntryHash(ref) == "" {
				n.note([]v1alpha1.ResourceRef{ref})
			}
		}
	}
}

func (n *nodeRollout) note(refs []v1alpha1.ResourceRef) {
	for _, ref := range refs {
		n.dirty[ref] = true
	}
	n.changes++
}

// start tells of a node of which nothing is known that it had applied the spec that it has,
// if it had, and what differs from that now.
func (r *rollout) start(name, applied string, has v1alpha1.NodeCatalogSpec, differing []v1alpha1.ResourceRef) {
	if r.nodes[name] != nil || applied == "" || applied != catalog.Digest(has) {
		return
	}
	n := &nodeRollout{base: applied, dirty: map[v1alpha1.ResourceRef]bool{}}
	n.note(differing)
	if r.nodes == nil {
		r.nodes = map[string]*nodeRollout{}
	}
	r.nodes[name] = n
}

// An application is what a node says it has applied.
type application struct {
	digest  string
	current bool // of what was last written. What was written, changed and changed back has one digest
}

// observe notes what a node reports, and returns what that leaves to do.
func (r *rollout) observe(name, expected string, applied application) progress {
	if r.nodes == nil {
		r.nodes = map[string]*nodeRollout{}
	}
	n := r.nodes[name]
	switch {
	case applied.digest == expected && applied.current:
		if n == nil {
			n = &nodeRollout{}
			r.nodes[name] = n
		}
		if n.base != expected || len(n.dirty) > 0 {
			n.base, n.dirty = expected, map[v1alpha1.ResourceRef]bool{}
			n.changes++
		}
		return progress{changes: n.changes}
	case n == nil:
		return progress{all: true}
	case applied.digest != n.base:
		return progress{all: true, changes: n.changes}
	}
	return progress{some: n.dirty, changes: n.changes}
}

// progress is what a node has yet to apply.
type progress struct {
	all     bool
	some    map[v1alpha1.ResourceRef]bool // that it is selected by, or was
	held    bool                          // the node is kept from applying it
	changes int                           // two of a node that are equal in this, held and all say the same
}
