package controllers

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/cleanup"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// deletions are the nodes that the deletion of each resource waits for.
type deletions map[v1alpha1.Resource]*cleanup.Waiting

// planDeletions returns, for each resource that is being deleted, the nodes that its deletion
// waits for. One that the last compilation still had is left out.
func planDeletions(sc *scope, d desired, nodes map[string]node) deletions {
	all := deletions{}
	var unsettled []node
	differ := contents.Differ{Entries: sc.entries(d.compilation)}
	for _, o := range sc.deleting {
		if sc.isRemoval(o) && !sc.uninstall.kinds[o.KindName()] {
			all[o] = waitingRemoval(d, nodes, v1alpha1.RefOf(o))
			continue
		}
		if _, compiled := d.generations[v1alpha1.RefOf(o)]; compiled || !controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) {
			continue
		}
		all[o] = &cleanup.Waiting{}
		if sc.isAbandoned(o) {
			continue
		}
		if unsettled == nil {
			unsettled = unsettledNodes(nodes)
		}
		for _, n := range unsettled {
			all[o].Add(n.Name, n.cleanupState(o, &differ))
		}
	}
	return all
}

// isAbandoned reports whether the deletion of a resource waits for no node, whatever that has left to do.
func (sc *scope) isAbandoned(o v1alpha1.Resource) bool {
	return o.GetAnnotations()[v1alpha1.AnnotationAbandonCleanup] == "true" || sc.uninstall.kinds[o.KindName()] || sc.external.Lost(v1alpha1.RefOf(o))
}

// waitingRemoval returns what the deletion of a resource of a Remote type waits for: its acting node, or one that could be
// that. Another resource may describe the same thing, which then stays.
func waitingRemoval(d desired, nodes map[string]node, ref v1alpha1.ResourceRef) *cleanup.Waiting {
	w := &cleanup.Waiting{}
	for _, p := range d.problems[ref] {
		if p.Reason == v1alpha1.ReasonConflict {
			return w
		}
		w.Obstacle = p.Message
	}
	for _, name := range d.Selected[ref] {
		index := nodestatus.Index{}
		index.Add(nodes[name].Node)
		if summary := index.Summarize(ref, []string{name}); summary.Counts.InSync == 0 {
			w.Summary = summary
		}
	}
	if !d.removals[ref] {
		w.Obstacle = "the node that acts for it has yet to be told"
	}
	return w
}

// unsettledNodes returns the nodes that have something to apply or report trouble: none, in a
// fleet in sync.
func unsettledNodes(nodes map[string]node) []node {
	all := []node{}
	for _, n := range nodes {
		if nc := n.Reported; nc != nil && (n.Progress.All || n.Progress.Some != nil || n.Waiting != nil || len(nc.Status.Resources) > 0 || nc.Status.Omitted > 0) {
			all = append(all, n)
		}
	}
	return all
}

// cleanupState returns the state of a resource that is being deleted on a node with a NodeCatalog. Whether the node
// had it follows from what managers wrote alone. Of a Catalog that is missing nothing is known, so it
// may contain the resource.
func (n node) cleanupState(o v1alpha1.Resource, differ *contents.Differ) nodestatus.State {
	ref := v1alpha1.RefOf(o)
	has := differ.Contains(n.spec.NodeCatalogSpec, ref) ||
		slices.ContainsFunc(n.spec.Catalogs, func(c v1alpha1.CatalogRef) bool { return differ.Entries(c.Name) == nil })
	var held *v1alpha1.Held
	if has {
		held = n.Held
	}
	return cleanup.State(ref, cleanup.Observation{
		Status: n.Reported.Status, Progress: n.Progress, Silent: n.Silent, Held: held, Waiting: n.Waiting,
		Had: has || slices.Contains(n.spec.Cleanup, v1alpha1.CleanupRef{Ref: ref, UID: o.GetUID()}),
	})
}

// planDeselected returns, for each resource whose deletion policy acts, the nodes that it no longer selects and that have yet to clean up.
func planDeselected(sc *scope, d desired, nodes map[string]node) map[v1alpha1.ResourceRef]*cleanup.Waiting {
	all := map[v1alpha1.ResourceRef]*cleanup.Waiting{}
	differ := contents.Differ{Entries: sc.entries(d.compilation)}
	for name, n := range nodes {
		if n.Reported == nil {
			continue
		}
		for _, ref := range n.removed(&differ) {
			o := sc.live[ref]
			if o == nil || !o.GetTargeting().DeletionPolicy.Acts() || sc.isRemote(ref) || differ.Contains(d.Nodes[name].Spec, ref) {
				continue
			}
			if all[ref] == nil {
				all[ref] = &cleanup.Waiting{}
			}
			all[ref].Add(name, n.cleanupState(o, &differ))
		}
	}
	return all
}

// removed returns the resources that an update of the NodeCatalog removes or has removed.
func (n node) removed(differ *contents.Differ) (refs []v1alpha1.ResourceRef) {
	for _, c := range n.spec.Cleanup {
		refs = append(refs, c.Ref)
	}
	if !n.spec.matches(n.Desired) {
		refs = append(refs, appliedBefore(differ.Diff(n.spec.NodeCatalogSpec, n.Desired.Spec).Removed, n.spec.NodeCatalogSpec)...)
	}
	if n.Waiting != nil {
		refs = append(refs, n.Waiting.Removed...)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// planDeletionStatuses returns the updates of resources whose deletion waits for nodes.
func planDeletionStatuses(all deletions, now metav1.Time) (updates []statusUpdate) {
	for o, w := range all {
		if !w.Done() {
			updates = appendIfChanged(updates, o, conditions.Status(w.Outcome(o), *o.GetStatus(), now))
		}
	}
	return updates
}
