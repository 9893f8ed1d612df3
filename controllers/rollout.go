package controllers

import "github.com/fettle-dev/fettle/api/v1alpha1"

// A rollout knows what nodes have yet to apply. It is kept from pass to pass so that a
// change of one resource does not make all others of the node look unsettled. What it
// does not know, as after a start, it takes for not applied.
type rollout struct{ nodes map[string]*nodeRollout }

type nodeRollout struct {
	base  string // the digest that the node had applied when it last was up to date; "" for never
	dirty map[v1alpha1.ResourceRef]bool
}

// changed notes what differs between two compilations; the first comes after nil.
func (r *rollout) changed(before, now *compilation) {
	if r.nodes == nil {
		r.nodes = map[string]*nodeRollout{}
	}
	for name := range r.nodes {
		if now.result.Nodes[name] == nil {
			delete(r.nodes, name)
		}
	}
	if before == nil {
		return
	}
	for ref, nodes := range now.result.Selected {
		for _, name := range nodes {
			r.note(name, ref, before, now)
		}
	}
}

func (r *rollout) note(name string, ref v1alpha1.ResourceRef, before, now *compilation) {
	n, was, is := r.nodes[name], before.result.Nodes[name], now.result.Nodes[name]
	if n == nil || was == nil || was.Digest == is.Digest {
		return
	}
	if was.EntryHash(ref) != is.EntryHash(ref) {
		n.dirty[ref] = true
	}
}

// observe notes the digest that a node reports, and returns what that leaves to do.
func (r *rollout) observe(name, expected, applied string) progress {
	n := r.nodes[name]
	switch {
	case applied == expected:
		if n == nil || n.base != expected || len(n.dirty) > 0 {
			r.nodes[name] = &nodeRollout{base: expected, dirty: map[v1alpha1.ResourceRef]bool{}}
		}
		return progress{}
	case n == nil || applied != n.base:
		return progress{all: true}
	}
	return progress{some: n.dirty}
}

// progress is what a node has yet to apply.
type progress struct {
	all  bool
	some map[v1alpha1.ResourceRef]bool
}

func (p progress) pending(ref v1alpha1.ResourceRef) bool { return p.all || p.some[ref] }
