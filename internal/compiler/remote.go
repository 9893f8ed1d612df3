package compiler

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
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

// failRemoteDuplicates finds conflicts among the resources of Remote types.
func (r *Revision) failRemoteDuplicates() {
	byIdentity := map[string][]*Draft{}
	for _, d := range r.Drafts {
		if d.Remote && d.Identity != "" {
			byIdentity[d.Identity] = append(byIdentity[d.Identity], d)
		}
	}
	for _, duplicates := range byIdentity {
		failDuplicates(duplicates)
	}
}

// relateRemote relates the resources of Remote types among each other.
func (r *Revision) relateRemote() {
	names := r.remoteNames()
	for _, d := range names.byRef {
		d.With = nil
		for _, o := range d.related(names) {
			d.With = append(d.With, o.draft.Ref)
		}
	}
}

// reverseRemovals has the resources of Remote types that are being deleted removed in the reverse of their order.
func (r *Revision) reverseRemovals() {
	names := r.remoteNames()
	for _, d := range names.byRef {
		if !d.Deleting {
			continue
		}
		for _, o := range d.related(names) {
			if o.draft.Deleting {
				d.reverse(o)
			}
		}
	}
}

func (r *Revision) remoteNames() namedDrafts {
	names := namedDrafts{map[v1alpha1.ResourceRef]*Draft{}, map[[2]string]*Draft{}, map[string]resource.Kind{}}
	for _, d := range r.Drafts {
		if d.Remote {
			names.add(d)
		}
	}
	return names
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
	if d.Hash != "" {
		d.Hash, d.Size = catalog.Measure(d.Entry)
	}
	if d.PerNode != nil {
		d.PerNode.entry.Edges = &e
	}
}
