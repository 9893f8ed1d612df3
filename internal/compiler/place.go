package compiler

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/text"
)

// actors are the nodes that act for resources of Remote types.
type actors struct {
	byRef map[v1alpha1.ResourceRef]actor
	stops map[string][]v1alpha1.ResourceRef // by node: what it is no longer to act for, sorted
}

// An actor is the node that acts for a resource.
type actor struct {
	node     string       // "" if none acts
	unplaced *fault.Fault // why none acts
	held     *fault.Fault // why a silent node remains the acting one
}

// Place decides which nodes act for resources of Remote types, for all revisions that are assigned afterwards, so that no two of them
// have two actors. Give it all of them, the newest first: the newest one that has a resource decides about it. The node that acts gets the
// entry of the revision that it is assigned, whichever nodes that selects, and no entry if it lacks the resource. A node that is to stop is told
// so in any revision. Without Place, each revision decides for itself, over all nodes.
func (f *Fleet) Place(revisions ...*Revision) {
	f.actors = place(f.nodes, &meter{}, revisions...)
	f.last.Revision = nil
}

// place decides over all nodes, by the first revision that has each resource.
func place(nodes []*evalContext, spent *meter, revisions ...*Revision) *actors {
	targets := remoteTargets(revisions)
	if len(targets) == 0 {
		return &actors{}
	}
	resources := make([]placement.Resource, len(targets))
	unknown := make([]*fault.Fault, len(targets)) // why a node may not be selected
	for i, t := range targets {
		resources[i] = placement.Resource{Ref: t.Remote.Ref, With: t.Remote.With}
	}
	eachSelected(targets, nodes, spent, func(target, node int, f *fault.Fault) {
		if f == nil || targets[target].Fault != nil {
			resources[target].Candidates = append(resources[target].Candidates, nodes[node].Name)
		} else {
			unknown[target] = f
		}
	})
	return decideActors(resources, unknown, nodes)
}

func decideActors(resources []placement.Resource, unknown []*fault.Fault, nodes []*evalContext) *actors {
	all := &actors{byRef: make(map[v1alpha1.ResourceRef]actor, len(resources)), stops: map[string][]v1alpha1.ResourceRef{}}
	held, candidates := make(map[string]string, len(nodes)), make([]placement.Candidate, len(nodes))
	for i, n := range nodes {
		candidates[i] = n.Placement
		candidates[i].Name, held[n.Name] = n.Name, n.Placement.Held
	}
	decisions := placement.Decide(resources, candidates)
	for i, r := range resources {
		d := decisions[r.Ref]
		for _, name := range d.Stops {
			all.stops[name] = append(all.stops[name], r.Ref)
		}
		is := actor{node: d.Node, unplaced: unknown[i]}
		switch {
		case d.Node != "":
			is.unplaced, is.held = nil, takeoverHeld(d.Node, held[d.Node])
		case is.unplaced == nil:
			is.unplaced = unplaced(d, len(r.Candidates))
		}
		all.byRef[r.Ref] = is
	}
	for _, refs := range all.stops {
		slices.Sort(refs)
	}
	return all
}

// remoteTargets returns the targets of Remote types, of each resource the first one.
func remoteTargets(revisions []*Revision) []*Target {
	var all []*Target
	seen := map[v1alpha1.ResourceRef]bool{}
	for _, r := range revisions {
		for _, t := range r.Targets {
			if t.Remote != nil && !seen[t.Remote.Ref] {
				seen[t.Remote.Ref] = true
				all = append(all, t)
			}
		}
	}
	return all
}

// takeoverHeld explains why a silent node remains the acting one. It returns nil if why is "": it does not remain.
func takeoverHeld(node, why string) *fault.Fault {
	if why == "" {
		return nil
	}
	return fault.New(v1alpha1.ReasonTakeoverHeld,
		"node %s acts for it and is silent, and no other node takes over, because %s: bring the agents back or, if the machine of %s will not return, delete that Node", node, why, node)
}

// unplaced explains why no node acts for a resource.
func unplaced(d placement.Decision, candidates int) *fault.Fault {
	switch {
	case d.Next != "":
		return fault.New(v1alpha1.ReasonMoving, "node %s takes over once %s has stopped acting for it", d.Next, strings.Join(d.Waits, ", "))
	case candidates == 0:
		return fault.New(v1alpha1.ReasonNoNodesSelected, "no node matches its nodeSelector and when, so none acts for it: select at least one")
	}
	return fault.New(v1alpha1.ReasonNoActingNode, "waits for a node: it selects %s, and none has an agent that is heard and not disabled", text.Count(candidates, "node"))
}
