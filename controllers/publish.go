package controllers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/cleanup"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// An update is a NodeCatalog to be written.
type update struct {
	node   *metav1.PartialObjectMetadata
	want   *compiler.NodeResult
	has    *v1alpha1.NodeCatalog // nil if it is to be created
	before spec                  // of has
	diff   contents.Diff         // of before and want
	// cleanup is the list of pending clean-ups to be written.
	cleanup []v1alpha1.CleanupRef
	mark    mark // to be written
}

// publish writes the desired state: Catalogs first, so that no node is given the name of one that
// does not exist.
func (r *Fleet) publish(ctx context.Context, s *snapshot) (err error) {
	ctx, span := r.Traces.Start(ctx, "publish")
	defer func() { span.End(err) }()
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(r.compiled.Catalogs)), func(name string) bool { return s.catalogs[name] != nil })
	failed := each(len(missing), func(i int) error { return r.createCatalog(ctx, r.compiled.Catalogs[missing[i]]) })
	updates := r.applyBudget(ctx, s, r.planUpdates(s))
	for i, name := range missing {
		if failed[i] != nil {
			updates = slices.DeleteFunc(updates, func(u update) bool {
				return slices.Contains(u.want.Spec.Catalogs, v1alpha1.CatalogRef{Name: name})
			})
		}
	}
	written := make([]*v1alpha1.NodeCatalog, len(updates))
	span.Count("catalogs", len(missing))
	span.Count("node_catalogs", len(updates))
	errs := each(len(updates), func(i int) (err error) {
		r.Traces.Publish(ctx, updates[i].node.Name, updates[i].want.Digest)
		written[i], err = r.writeNodeCatalog(ctx, updates[i])
		return err
	})
	for i, err := range errs {
		failed = append(failed, r.noteWrite(ctx, updates[i], written[i], err))
	}
	if len(missing)+len(updates) > 0 {
		ctrl.LoggerFrom(ctx).Info("published", "catalogs", len(missing), "nodeCatalogs", len(updates))
	}
	r.Metrics.unpublished.Set(float64(r.refusals.Retain(s.exists)))
	return errors.Join(failed...)
}

// planUpdates returns the nodes whose spec is not the desired one, by name.
func (r *Fleet) planUpdates(s *snapshot) (updates []update) {
	for _, node := range slices.Sorted(maps.Keys(r.compiled.Nodes)) {
		u := update{node: s.nodes[node], want: r.compiled.Nodes[node], has: s.nodeCatalogs[node], mark: mark{fleetDisabled: r.fleetSpec.Disabled}}
		if u.has != nil {
			u.before = r.specs.of(u.has)
			if u.before.matches(u.want) {
				r.specs.setInSync(node, r.compiled.revision)
				r.refusals.Accepted(node)
				continue
			}
		}
		if !r.refusals.BackingOff(node, u.want.Digest, r.Clock.Now()) {
			updates = append(updates, u)
		}
	}
	return updates
}

// applyBudget removes the updates that the deselection budget holds, and adds pending clean-ups
// to the others.
func (r *Fleet) applyBudget(ctx context.Context, s *snapshot, updates []update) []update {
	differ, finalized := contents.Differ{Entries: r.entriesIn(s)}, cleanup.Finalized(s.live, s.deleting)
	var losses []deselection.Loss
	for i := range updates {
		if u := &updates[i]; u.has != nil {
			u.diff = differ.Diff(u.before.NodeCatalogSpec, u.want.Spec)
			removed := slices.DeleteFunc(appliedBefore(u.diff.Removed, u.before.NodeCatalogSpec), s.isRemote) // nodes remove none of these
			u.cleanup = planCleanup(*u, removed, finalized, &differ)
			removed = slices.DeleteFunc(removed, func(ref v1alpha1.ResourceRef) bool { return !r.edits.Unedited(ref, u.before.inSync) })
			if len(removed) > 0 {
				losses = append(losses, r.loss(*u, removed))
			}
		}
	}
	r.setHold(ctx, s, r.budget.Decide(losses, r.fleetOf(s)), updates)
	return slices.DeleteFunc(updates, func(u update) bool {
		held := r.held[u.node.Name] != nil
		if held {
			r.startProgress(u)
		}
		return held
	})
}

// entriesIn returns what Catalogs contain, by name: those of the last compilation, and those that
// the cluster has from earlier ones.
func (r *Fleet) entriesIn(s *snapshot) func(name string) []v1alpha1.CatalogEntry {
	return func(name string) []v1alpha1.CatalogEntry {
		if r.compiled != nil && r.compiled.Catalogs[name] != nil {
			return r.compiled.Catalogs[name].Entries
		}
		if c := s.catalogs[name]; c != nil {
			return c.Entries
		}
		return nil
	}
}

// startProgress is for a node that keeps a spec: a manager that starts would else take all of that
// for unapplied.
func (r *Fleet) startProgress(u update) {
	if name := u.node.Name; u.before.digest == u.has.Status.AppliedDigest && r.progress.Start(name, u.before.digest) {
		r.progress.Changed(name, u.want.Digest, u.diff.Changed)
	}
}

// planCleanup returns the pending clean-ups: of what the update removes, and of what the node has
// yet to report gone.
func planCleanup(u update, removed []v1alpha1.ResourceRef, finalized map[v1alpha1.ResourceRef]types.UID, differ *contents.Differ) []v1alpha1.CleanupRef {
	applied := u.before.applied(u.before.digest, u.has.Status)
	earlier := cleanup.Unfinished(u.before.Cleanup, u.has.Status, applied, finalized)
	earlier = slices.DeleteFunc(earlier, func(ref v1alpha1.ResourceRef) bool { return differ.Contains(u.want.Spec, ref) })
	all := slices.Concat(removed, earlier)
	slices.Sort(all)
	return cleanup.Pending(slices.Compact(all), finalized)
}

// appliedBefore leaves out resources that waited for the node's first facts: it never had them.
func appliedBefore(removed []v1alpha1.ResourceRef, before v1alpha1.NodeCatalogSpec) []v1alpha1.ResourceRef {
	withheld := contents.Withheld(before)
	return slices.DeleteFunc(slices.Clone(removed), func(ref v1alpha1.ResourceRef) bool { return withheld[ref].Reason == v1alpha1.ReasonWaitingForFacts })
}

func (r *Fleet) fleetOf(s *snapshot) deselection.Fleet {
	f := deselection.Fleet{Now: r.Clock.Now(), Nodes: len(s.nodeCatalogs), MaxPercent: r.maxPercent(), UID: r.edits.UID}
	if s.fleet != nil {
		f.Confirmation = s.fleet.Annotations[v1alpha1.AnnotationConfirmDeselection]
	}
	return f
}

// maxPercent is the share of nodes that may lose resources, or fall silent, at once without a hold.
func (r *Fleet) maxPercent() int {
	return *cmp.Or(r.MaxDeselection, new(deselection.DefaultMaxPercent))
}

// noteWrite notes the result of a write, which is nil if the cache is behind. That the API server rejects a
// NodeCatalog concerns that node alone, and is no error.
func (r *Fleet) noteWrite(ctx context.Context, u update, nc *v1alpha1.NodeCatalog, err error) error {
	switch {
	case err == nil:
		r.refusals.Accepted(u.node.Name)
		if nc != nil {
			now := spec{u.want.Spec, nc.UID, nc.Generation, nc.Generation, u.want.Digest, nc.Spec.Noop, r.compiled.revision, u.has != nil}
			now.Cleanup = u.cleanup
			u.mark.set(&now.NodeCatalogSpec)
			r.specs.wrote(u.node.Name, u.before, now)
			r.announceHold(nc, u.before.Held)
		}
	case isRejection(err):
		if r.refusals.Refused(u.node.Name, u.want.Digest, err, r.Clock.Now()) {
			r.announceRefusal(ctx, u.node.Name, err)
		}
	default:
		return err
	}
	return nil
}

func (r *Fleet) announceRefusal(ctx context.Context, node string, err error) {
	ctrl.LoggerFrom(ctx).Error(err, "the API server rejects the NodeCatalog, so the node stays at its last one", "node", node)
	conditions.Record(r.Recorder, &v1alpha1.NodeCatalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeCatalog"},
		ObjectMeta: metav1.ObjectMeta{Name: node},
	}, conditions.Event{
		Type: corev1.EventTypeWarning, Reason: v1alpha1.EventNotPublished, Action: "Publish", Note: nodestatus.RefusedMessage(err.Error()),
	})
}

// specPatch replaces the lists of a spec that differ. Empty lists are written out, since a merge
// patch would keep the old ones. noop and disabled are left to people.
func specPatch(u update) mergePatch {
	before, now, patch := u.before, u.want.Spec, map[string]any{}
	if !slices.Equal(before.Catalogs, now.Catalogs) {
		patch["catalogs"] = now.Catalogs
	}
	if !catalog.SameEntries(before.Entries, now.Entries) {
		patch["entries"] = now.Entries
	}
	if !slices.Equal(before.Withheld, now.Withheld) {
		patch["withheld"] = now.Withheld
	}
	if !slices.Equal(before.Cleanup, u.cleanup) {
		patch["cleanup"] = u.cleanup
	}
	maps.Copy(patch, u.mark.patch(before.NodeCatalogSpec))
	// One empty entry drops all managed fields, which grow with what agents write.
	return mergePatch{"spec": patch, "metadata": map[string]any{"managedFields": []any{map[string]any{}}}}
}
