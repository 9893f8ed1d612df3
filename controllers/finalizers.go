package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/cleanup"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// conflictRetry is when to retry after someone else changed a resource at the same time. As a rule
// the cache hears of that and causes another reconciliation.
const conflictRetry = time.Second

// reconcileFinalizers adds the finalizer to resources whose deletion leaves nodes something to do,
// and removes it from others and from those that are cleaned up. Hosts are safe without it: it only
// makes `kubectl delete` wait.
func (r *Fleet) reconcileFinalizers(ctx context.Context, s *snapshot) (time.Duration, error) {
	var changes []v1alpha1.Resource
	for _, o := range s.live {
		if o.GetTargeting().DeletionPolicy.Acts() != controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) {
			changes = append(changes, o)
		}
	}
	if err := r.protect(ctx, s); err != nil {
		return 0, err
	}
	var next limits.Wait
	r.deletions = r.waitingDeletions(s)
	for o, w := range r.deletions {
		if w.Done() {
			changes = append(changes, o)
		} else {
			next.Add(definitionsPeriod)
		}
	}
	errs := each(len(changes), func(i int) error { return r.toggleFinalizer(ctx, changes[i]) })
	for i, err := range errs {
		if apierrors.IsConflict(err) {
			errs[i] = nil
			next.Add(conflictRetry)
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

// protect has the manager's own permissions outlast the finalizers of resources.
func (r *Fleet) protect(ctx context.Context, s *snapshot) error {
	if r.Protect == nil {
		return nil
	}
	needed := slices.ContainsFunc(slices.AppendSeq(slices.Clone(s.deleting), maps.Values(s.live)), func(o v1alpha1.Resource) bool {
		return controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) || o.GetDeletionTimestamp() == nil && o.GetTargeting().DeletionPolicy.Acts()
	})
	if !needed && r.uninstall.inProgress() {
		return nil // the manager may be next
	}
	return r.Protect(ctx, needed)
}

// waitingDeletions returns, for each resource that is being deleted, the nodes that its deletion
// waits for. One that the last compilation still had is left out.
func (r *Fleet) waitingDeletions(s *snapshot) map[v1alpha1.Resource]*cleanup.Waiting {
	all := map[v1alpha1.Resource]*cleanup.Waiting{}
	var nodes []nodestatus.Node
	differ := contents.Differ{Entries: r.entriesIn(s)}
	for _, o := range s.deleting {
		if s.isRemoval(o) && !r.uninstall.kinds[o.KindName()] {
			all[o] = r.waitingRemoval(s, v1alpha1.RefOf(o))
			continue
		}
		if _, compiled := r.compiled.generations[v1alpha1.RefOf(o)]; compiled || !controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) {
			continue
		}
		if nodes == nil {
			nodes = r.unsettledNodes(s)
		}
		all[o] = &cleanup.Waiting{}
		if r.isAbandoned(s, o) {
			continue
		}
		for _, n := range nodes {
			all[o].Add(n.Name, r.cleanupState(o, n, &differ))
		}
	}
	return all
}

// isAbandoned reports whether the deletion of a resource waits for no node, whatever that has left to do.
func (r *Fleet) isAbandoned(s *snapshot, o v1alpha1.Resource) bool {
	return o.GetAnnotations()[v1alpha1.AnnotationAbandonCleanup] == "true" || r.uninstall.kinds[o.KindName()] || s.external.Lost(v1alpha1.RefOf(o))
}

// waitingRemoval returns what the deletion of a resource of a Remote type waits for: its acting node, or one that could be
// that. Another resource may describe the same thing, which then stays.
func (r *Fleet) waitingRemoval(s *snapshot, ref v1alpha1.ResourceRef) *cleanup.Waiting {
	w := &cleanup.Waiting{}
	for _, p := range r.compiled.problems[ref] {
		if p.Reason == v1alpha1.ReasonConflict {
			return w
		}
		w.Obstacle = p.Message
	}
	for _, name := range r.compiled.Selected[ref] {
		index := nodestatus.Index{}
		index.Add(r.nodeStatus(name, r.compiled.Nodes[name], s.nodeCatalogs[name]))
		if summary := index.Summarize(ref, []string{name}); summary.Counts.InSync == 0 {
			w.Summary = summary
		}
	}
	if !r.compiled.removals[ref] {
		w.Obstacle = "the node that acts for it has yet to be told"
	}
	return w
}

// unsettledNodes returns the nodes that have something to apply or report trouble: none, in a
// fleet in sync.
func (r *Fleet) unsettledNodes(s *snapshot) []nodestatus.Node {
	all := []nodestatus.Node{}
	for name, nc := range s.nodeCatalogs {
		if want := r.compiled.Nodes[name]; want != nil {
			n := r.nodeStatus(name, want, nc)
			if n.Progress.All || n.Progress.Some != nil || len(nc.Status.Resources) > 0 || nc.Status.Omitted > 0 {
				all = append(all, n)
			}
		}
	}
	return all
}

// cleanupState returns the state of a resource that is being deleted on one node. Whether the node
// had it follows from what managers wrote alone. Of a Catalog that is missing nothing is known, so it
// may contain the resource.
func (r *Fleet) cleanupState(o v1alpha1.Resource, n nodestatus.Node, differ *contents.Differ) nodestatus.State {
	spec, ref := r.specs.of(n.Reported), v1alpha1.RefOf(o)
	has := differ.Contains(spec.NodeCatalogSpec, ref) ||
		slices.ContainsFunc(spec.Catalogs, func(c v1alpha1.CatalogRef) bool { return differ.Entries(c.Name) == nil })
	var held *v1alpha1.Held
	if has {
		held = n.Held
	}
	return cleanup.State(ref, cleanup.Node{
		Status: n.Reported.Status, Progress: n.Progress, Silent: n.Silent, Held: held,
		Had: has || slices.Contains(spec.Cleanup, v1alpha1.CleanupRef{Ref: ref, UID: o.GetUID()}),
	})
}

func (r *Fleet) toggleFinalizer(ctx context.Context, o v1alpha1.Resource) error {
	before, next := patchable(o), patchable(o)
	if !controllerutil.RemoveFinalizer(next, v1alpha1.FinalizerCleanup) {
		controllerutil.AddFinalizer(next, v1alpha1.FinalizerCleanup)
	}
	// Only if nobody changed the resource since: the finalizers of others must not be lost.
	err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return wrap(client.IgnoreNotFound(err), "cannot change finalizers of "+string(v1alpha1.RefOf(o)))
}
