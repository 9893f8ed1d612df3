package controllers

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// A rollout knows what nodes have yet to apply. It is kept from pass to pass so that a
// change of one resource does not make all others of the node look unsettled. What it
// does not know, as after a start, it takes for not applied.
type rollout struct{ nodes map[string]*nodeRollout }

type nodeRollout struct {
	base    string                        // the digest that the node had applied when it last was up to date
	steps   []step                        // since then, in order
	at      int                           // how many of them it has applied
	dirty   map[v1alpha1.ResourceRef]bool // by the others; nil until it is asked for
	changes int                           // counts those of what is above
}

// A step is a digest that a node was to have, and what makes it another than the one before.
type step struct {
	digest string
	refs   []v1alpha1.ResourceRef
}

// maxSteps is how many digests back it is known what a node has. One that can't keep up has
// few of its own, and one that is away applies none of them.
const maxSteps = 16

// changed notes what differs between two compilations.
func (r *rollout) changed(before, now *compilation) {
	gone := r.gone(before, now)
	for name, n := range r.nodes {
		is := now.result.Nodes[name]
		if is == nil {
			delete(r.nodes, name)
			continue
		}
		if was := before.result.Nodes[name]; was != nil && was != is && was.Digest != is.Digest {
			n.note(step{is.Digest, append(is.Changed(was), gone[name]...)})
		}
	}
}

// gone are resources that went away where they were withheld, by node: they may have been
// applied before.
func (r *rollout) gone(before, now *compilation) map[string][]v1alpha1.ResourceRef {
	gone := map[string][]v1alpha1.ResourceRef{}
	for ref := range before.resources {
		if _, stays := now.resources[ref]; stays {
			continue
		}
		for _, name := range before.result.Selected[ref] {
			if r.nodes[name] != nil && before.result.Nodes[name].EntryHash(ref) == "" {
				gone[name] = append(gone[name], ref)
			}
		}
	}
	return gone
}

func (n *nodeRollout) note(s step) {
	n.steps, n.dirty = append(n.steps, s), nil
	n.changes++
	if len(n.steps) > maxSteps {
		joined := slices.Concat(n.steps[0].refs, n.steps[1].refs)
		slices.Sort(joined)
		n.steps[1].refs = slices.Compact(joined)
		n.steps = slices.Delete(n.steps, 0, 1)
	}
}

// start tells of a node of which nothing is known that it had applied the spec that it has,
// if it had, and what differs from that now.
func (r *rollout) start(name, applied string, has v1alpha1.NodeCatalogSpec, now step) {
	if r.nodes[name] != nil || applied == "" || applied != catalog.Digest(has) {
		return
	}
	n := &nodeRollout{base: applied}
	n.note(now)
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
		if n.base != expected || len(n.steps) > 0 {
			n.base, n.steps, n.dirty = expected, nil, nil
			n.changes++
		}
		return progress{changes: n.changes}
	case n == nil:
		return progress{all: true}
	}
	return n.left(applied.digest)
}

// left is what a node has yet to apply that has applied a digest: what came after it, or
// after the first of several that are alike.
func (n *nodeRollout) left(digest string) progress {
	at := 0
	if digest != n.base {
		at = 1 + slices.IndexFunc(n.steps, func(s step) bool { return s.digest == digest })
		if at == 0 {
			return progress{all: true, changes: n.changes}
		}
	}
	if n.dirty == nil || at != n.at {
		n.at, n.dirty = at, map[v1alpha1.ResourceRef]bool{}
		for _, s := range n.steps[at:] {
			for _, ref := range s.refs {
				n.dirty[ref] = true
			}
		}
		n.changes++
	}
	return progress{some: n.dirty, changes: n.changes}
}

// progress is what a node has yet to apply.
type progress struct {
	all     bool
	some    map[v1alpha1.ResourceRef]bool // that it is selected by, or was
	held    bool                          // the node is kept from applying it
	refused string                        // why the API server refuses to write it
	changes int                           // two of a node that are equal in this and all of the above but some say the same
}
