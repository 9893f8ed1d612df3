package compiler

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// setRemote notes that one node acts for a draft. Nodes never remove what it describes by themselves: the resource is
// compiled as absent while it is being deleted.
func (d *Draft) setRemote(r v1alpha1.Resource) {
	d.Remote, d.Deleting = true, r.GetDeletionTimestamp() != nil
	d.Entry.DeletionPolicy = ""
	if r.GetTargeting().DeletionPolicy == v1alpha1.DeletionRestore {
		d.Fault = fault.New(v1alpha1.ReasonInvalidSpec, "deletionPolicy Restore needs what a node has saved, and another node may act by then: use Delete or Orphan")
	}
}

// refuseRemotePurges fails the Purges of Remote types: a node knows only the resources that it acts for, and would remove what others
// manage.
func (r *Revision) refuseRemotePurges(external map[string]ExternalKind) {
	for _, d := range r.Drafts {
		if d.Entry.Kind == "Purge" && d.Fault == nil && external[d.Entry.Namevar].Remote {
			d.Fault = fault.New(v1alpha1.ReasonInvalidSpec, "kind %q describes devices or services, and no node knows what the others manage there: remove this Purge", d.Entry.Namevar)
		}
	}
}

// relateRemote relates the resources of Remote types among each other, finds conflicts, and has those being deleted
// removed in the reverse of their order.
func (r *Revision) relateRemote() {
	byIdentity, names := map[string][]*Draft{}, namedDrafts{map[v1alpha1.ResourceRef]*Draft{}, map[[2]string]*Draft{}, map[string]resource.Kind{}}
	for _, d := range r.Drafts {
		if !d.Remote {
			continue
		}
		names.add(d)
		if d.Identity != "" {
			byIdentity[d.Identity] = append(byIdentity[d.Identity], d)
		}
	}
	for _, duplicates := range byIdentity {
		failDuplicates(duplicates)
	}
	for _, d := range names.byRef {
		for _, o := range d.related(names) {
			d.With = append(d.With, o.draft.Ref)
			if d.Deleting && o.draft.Deleting {
				d.reverse(o)
			}
		}
	}
}

// namedDrafts are drafts by their names, and by kind and name on the host.
type namedDrafts struct {
	byRef map[v1alpha1.ResourceRef]*Draft
	byKey map[[2]string]*Draft
	kinds map[string]resource.Kind
}

// find returns the draft with a name on the host, as it is written or as its type spells it; nil if there is none.
func (n namedDrafts) find(kind, name string) *Draft {
	if d := n.byKey[[2]string{kind, name}]; d != nil || n.kinds[kind] == nil {
		return d
	}
	return n.byKey[[2]string{kind, n.kinds[kind].CanonicalName(name)}]
}

func (n namedDrafts) add(d *Draft) {
	n.byRef[d.Ref] = d
	if d.Bound != nil {
		n.kinds[d.Entry.Kind] = d.Bound.Kind()
		for _, name := range d.Bound.Keys() {
			n.byKey[[2]string{d.Entry.Kind, name}] = d
		}
	}
}

// failDuplicates fails resources with the same identity, whichever nodes they select. One that is being deleted gives way
// to the others.
func failDuplicates(duplicates []*Draft) {
	for _, d := range duplicates {
		var first []v1alpha1.ResourceRef
		others := 0
		for _, o := range duplicates {
			if o == d || !d.Deleting && o.Deleting {
				continue
			}
			if others++; others <= text.MaxListed {
				first = append(first, o.Ref)
			}
		}
		if others > 0 && d.Fault == nil {
			d.Fault = fault.New(v1alpha1.ReasonConflict, "%s is also claimed by %s, and identifies one thing whichever node acts for it: keep one", d.Property, text.ListOf(others, first))
		}
	}
}

// A relative is another resource that a draft is related to.
type relative struct {
	draft *Draft
	first bool // it comes before the draft
}

// related returns the resources of Remote types that a draft is related to, by what authors wrote and automatically.
func (d *Draft) related(names namedDrafts) []relative {
	var all []relative
	add := func(o *Draft, first bool) {
		if o != nil && o != d && !slices.ContainsFunc(all, func(r relative) bool { return r.draft == o }) {
			all = append(all, relative{o, first})
		}
	}
	for _, e := range d.Edges {
		add(names.byRef[e.Ref], e.First)
	}
	if d.Bound != nil {
		for _, rel := range d.Bound.Relations() {
			for _, name := range rel.Names {
				add(names.find(rel.Kind, name), rel.Relation == resource.Require || rel.Relation == resource.Subscribe)
			}
		}
	}
	return all
}

// reverse has a draft removed before a relative that was created before it, and after one that was created after it. An edge
// that is written takes precedence over an automatic one.
func (d *Draft) reverse(o relative) {
	without := func(refs []v1alpha1.ResourceRef) []v1alpha1.ResourceRef {
		return slices.DeleteFunc(slices.Clone(refs), func(ref v1alpha1.ResourceRef) bool { return ref == o.draft.Ref })
	}
	e := v1alpha1.Edges{}
	if d.Entry.Edges != nil {
		e = *d.Entry.Edges
	}
	e = v1alpha1.Edges{Require: without(e.Require), Before: without(e.Before), Notify: without(e.Notify), Subscribe: without(e.Subscribe)}
	if o.first {
		e.Before = sorted(append(e.Before, o.draft.Ref))
	} else {
		e.Require = sorted(append(e.Require, o.draft.Ref))
	}
	d.Entry.Edges, d.Edges = &e, edgesOf(&e)
	if d.PerNode != nil {
		d.PerNode.entry.Edges = &e
	}
}

// assignRemote adds each target of a Remote type to the node that acts for it. selected has the nodes that each target selects.
func (a *assigner) assignRemote(selected map[*Target][]*nodeAssignment) {
	var resources []placement.Resource
	var targets []*Target
	for _, t := range a.revision.Targets {
		if t.Remote == nil {
			continue
		}
		r := placement.Resource{Ref: t.Remote.Ref, With: t.Remote.With}
		for _, n := range selected[t] {
			r.Candidates = append(r.Candidates, n.Name)
		}
		targets, resources = append(targets, t), append(resources, r)
	}
	if len(targets) == 0 {
		return
	}
	nodes, candidates := map[string]*nodeAssignment{}, make([]placement.Candidate, len(a.nodes))
	for i, n := range a.nodes {
		nodes[n.Name], candidates[i] = n, n.Placement
		candidates[i].Name = n.Name
	}
	decisions := placement.Decide(resources, candidates)
	for _, t := range targets {
		d := decisions[t.Remote.Ref]
		for _, name := range d.Stops {
			nodes[name].stops = append(nodes[name].stops, t.Remote.Ref)
		}
		switch {
		case d.Node != "":
			nodes[d.Node].add(t, nil)
			delete(a.unplaced, t.Remote)
			a.held[t.Remote] = takeoverHeld(d.Node, nodes[d.Node].Placement.Held)
		case a.unplaced[t.Remote] == nil:
			a.unplaced[t.Remote] = unplaced(d, len(selected[t]))
		}
	}
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
