package compiler

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Revision is the compiled form of all resources, as far as it does not depend on nodes.
type Revision struct {
	Drafts  []*Draft
	Targets []*Target // in the order of their first drafts
	Exists  map[v1alpha1.ResourceRef]bool

	definitions definitions // of the types of the drafts, and perhaps of others
}

// A Target is a targeting and the drafts that have it. A draft of a Remote type has a Target of its own. Its Fault applies to all of its drafts.
type Target struct {
	*targeting.Selection
	Key      string
	Index    int // in the revision
	Drafts   []*Draft
	Remote   *Draft                // the only one, if one node acts for it
	Catalogs []*v1alpha1.Catalog   // of the drafts that are the same on every node; see pack
	Refs     []v1alpha1.CatalogRef // to the catalogs
}

// A selectionFunc returns the compiled form of a targeting with a key.
type selectionFunc func(key string, t *v1alpha1.Targeting) *targeting.Selection

// revise drafts resources in their order, and calls selection for each targeting. workers is how many resources are
// drafted at once; the functions of the drafter must be safe for that.
func (by drafter) revise(resources []v1alpha1.Resource, workers int, selection selectionFunc) *Revision {
	drafts := make([]*Draft, len(resources))
	resource.Each(len(resources), workers, func(i int) { drafts[i] = by.draft(resources[i]) })
	r := assemble(drafts, selection)
	r.failRemoteDuplicates()
	r.relateRemote()
	r.reverseRemovals()
	return r
}

// assemble makes a revision of drafts, in their order.
func assemble(drafts []*Draft, selection selectionFunc) *Revision {
	r := &Revision{Exists: make(map[v1alpha1.ResourceRef]bool, len(drafts))}
	first, targets := map[v1alpha1.ResourceRef]*Draft{}, map[string]*Target{}
	for _, d := range drafts {
		if other := first[d.Ref]; other != nil {
			if other.Location != d.Location {
				other.Location = ""
			}
			other.Fault = fault.New(v1alpha1.ReasonConflict, "%s is defined more than once: give each its own metadata.name", d.Ref)
			continue
		}
		first[d.Ref], r.Exists[d.Ref], d.Position = d, true, len(r.Drafts)
		r.Drafts = append(r.Drafts, d)
		d.key = targeting.Key(d.targeting)
		t := targets[d.key]
		if t == nil || d.Remote {
			t = &Target{Selection: selection(d.key, d.targeting), Key: d.key, Index: len(r.Targets)}
			r.Targets = append(r.Targets, t)
		}
		if d.Remote {
			t.Remote = d
		} else {
			targets[d.key] = t
		}
		t.Drafts = append(t.Drafts, d)
		if t.Fault != nil {
			d.Fault = t.Fault
		}
	}
	return r
}

// draft returns the draft of a resource, nil if there is none. The drafts must be sorted, as all are except local ones.
func (r *Revision) draft(ref v1alpha1.ResourceRef) *Draft {
	i, found := slices.BinarySearchFunc(r.Drafts, ref, func(d *Draft, ref v1alpha1.ResourceRef) int { return strings.Compare(string(d.Ref), string(ref)) })
	if !found {
		return nil
	}
	return r.Drafts[i]
}

// pack puts the drafts that are the same on every node into catalogs.
func (r *Revision) pack() {
	for _, t := range r.Targets {
		var shared []*rendering
		for _, d := range t.Drafts {
			if d.Fault == nil && d.PerNode == nil {
				shared = append(shared, &d.rendering)
			}
		}
		t.Catalogs = packCatalogs(shared)
		t.Refs = refsOf(t.Catalogs)
	}
}
