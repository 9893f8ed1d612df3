package controllers

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/cleanup"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
)

// deselected returns, for each resource whose deletion policy acts, the nodes that it no longer selects and that have yet to clean up.
func (r *Fleet) deselected(s *snapshot) map[v1alpha1.ResourceRef]*cleanup.Waiting {
	all := map[v1alpha1.ResourceRef]*cleanup.Waiting{}
	differ := contents.Differ{Entries: r.entriesIn(s)}
	for name, nc := range s.nodeCatalogs {
		want := r.compiled.Nodes[name]
		if want == nil {
			continue
		}
		for _, ref := range r.removedFrom(nc, want, &differ) {
			o := s.live[ref]
			if o == nil || !o.GetTargeting().DeletionPolicy.Acts() || s.isRemote(ref) || differ.Contains(want.Spec, ref) {
				continue
			}
			if all[ref] == nil {
				all[ref] = &cleanup.Waiting{}
			}
			all[ref].Add(name, r.cleanupState(o, r.nodeStatus(name, want, nc), &differ))
		}
	}
	return all
}

// removedFrom returns the resources that an update of a NodeCatalog removes or has removed.
func (r *Fleet) removedFrom(nc *v1alpha1.NodeCatalog, want *compiler.NodeResult, differ *contents.Differ) (refs []v1alpha1.ResourceRef) {
	spec := r.specs.of(nc)
	for _, c := range spec.Cleanup {
		refs = append(refs, c.Ref)
	}
	if !spec.matches(want) {
		refs = append(refs, appliedBefore(differ.Diff(spec.NodeCatalogSpec, want.Spec).Removed, spec.NodeCatalogSpec)...)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}
