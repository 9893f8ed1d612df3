// Package revision finds CatalogRevisions by what people type, and compares what two of them have of each resource.
package revision

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Content is the resources of a revision.
type Content map[v1alpha1.ResourceRef]Resource

// A Resource is what a revision has of a resource: the nodes that get it, and what they get, or why none does.
type Resource struct {
	Targeting v1alpha1.Targeting      // only nodeSelector, when and acceptSelfLabelledNodes
	Entry     *v1alpha1.CatalogEntry  // nil if it is not known because of the fault
	Fault     *v1alpha1.RevisionFault // why no node gets it; nil if nodes do
	Deleting  bool                    // the entry removes what it describes
}

// Of returns the resources of the targetings of a revision. entries returns the content of a Catalog.
func Of(targets []v1alpha1.RevisionTarget, entries func(catalog string) []v1alpha1.CatalogEntry) Content {
	all := Content{}
	for _, t := range targets {
		of := Resource{
			Targeting: v1alpha1.Targeting{NodeSelector: t.NodeSelector, When: t.When, AcceptSelfLabelledNodes: t.AcceptSelfLabelledNodes},
			Deleting:  t.Deleting,
		}
		for _, name := range CatalogsOf(t) {
			catalog := entries(name)
			for i := range catalog {
				of.Entry = &catalog[i]
				all[catalog[i].Ref()] = of
			}
		}
		of.Entry = nil
		all.withhold(of, t.Faulty)
	}
	return all
}

// withhold adds the faults of resources to their entries, as far as these are known.
func (c Content) withhold(of Resource, faulty []v1alpha1.RevisionFault) {
	for i := range faulty {
		r, known := c[faulty[i].Ref]
		if !known {
			r = of
		}
		r.Fault = &faulty[i]
		c[faulty[i].Ref] = r
	}
}

// CatalogsOf returns the names of the Catalogs of a targeting.
func CatalogsOf(t v1alpha1.RevisionTarget) (names []string) {
	for _, catalogs := range [][]v1alpha1.CatalogRef{t.Catalogs, t.Sources} {
		for _, c := range catalogs {
			names = append(names, c.Name)
		}
	}
	return names
}
