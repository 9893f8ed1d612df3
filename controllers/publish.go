package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
)

// A publisher writes Catalogs and the specs of NodeCatalogs, and remembers what it has written and what the API server rejected.
type publisher struct {
	client   client.Client
	recorder events.EventRecorder
	clock    clock.PassiveClock
	metrics  *Metrics
	traces   *traces.Recorder

	specs    specs
	refusals limits.Refusals
}

// publish writes what was decided: Catalogs first, so that no node is given the name of one that
// does not exist. Nothing is written while Fettle is being uninstalled.
func (p *publisher) publish(ctx context.Context, sc *scope, d decision) (err error) {
	if sc.uninstall.inProgress() {
		return nil
	}
	ctx, span := p.traces.Start(ctx, "publish")
	begin := p.clock.Now()
	defer func() {
		span.End(err)
		p.metrics.observePublish(p.clock.Since(begin), p.clock.Now(), err)
	}()
	p.announceHolds(ctx, sc.fleet, d)
	for _, node := range d.inSync {
		p.specs.setInSync(node, d.edits.Revision())
		p.refusals.Accepted(node)
	}
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(d.Catalogs)), func(name string) bool { return sc.catalogs[name] != nil })
	failed := each(len(missing), func(i int) error {
		return wrap(createHashed(ctx, p.client, d.Catalogs[missing[i]]), "cannot create Catalog "+missing[i])
	})
	updates := withCatalogs(d.updates, missing, failed)
	span.Count("catalogs", len(missing))
	span.Count("node_catalogs", len(updates))
	written := make([]*v1alpha1.NodeCatalog, len(updates))
	errs := each(len(updates), func(i int) (err error) {
		p.traces.Publish(ctx, updates[i].node.Name, updates[i].want.Digest)
		written[i], err = p.writeNodeCatalog(ctx, updates[i])
		return err
	})
	for i, err := range errs {
		failed = append(failed, p.recordResult(ctx, updates[i], written[i], d.edits.Revision(), err))
	}
	if len(missing)+len(updates) > 0 {
		ctrl.LoggerFrom(ctx).Info("published", "catalogs", len(missing), "nodeCatalogs", len(updates))
	}
	p.metrics.unpublished.Set(float64(p.refusals.Retain(sc.exists)))
	return errors.Join(failed...)
}

// withCatalogs returns the updates without those that name a Catalog that could not be created.
func withCatalogs(updates []update, created []string, failed []error) []update {
	return slices.DeleteFunc(slices.Clone(updates), func(u update) bool {
		return slices.ContainsFunc(u.want.Spec.Catalogs, func(c v1alpha1.CatalogRef) bool {
			i, found := slices.BinarySearch(created, c.Name)
			return found && failed[i] != nil
		})
	})
}

// writeNodeCatalog returns the NodeCatalog as it was written, without what it has in common with the update, or nil if the cache is behind:
// an event will cause another reconciliation.
func (p *publisher) writeNodeCatalog(ctx context.Context, u update) (*v1alpha1.NodeCatalog, error) {
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: u.node.Name}}
	if u.has == nil {
		nc.OwnerReferences, nc.Spec = nodeAsOwner(u.node), *u.want.Spec.DeepCopy() // nodes share its lists
		u.mark.set(&nc.Spec)
		nc.Spec.Rollout = u.rollout.DeepCopy()
		if err := p.client.Create(ctx, nc); err != nil {
			return nil, wrap(client.IgnoreAlreadyExists(err), "cannot create NodeCatalog "+nc.Name)
		}
		return writtenPart(nc), nil
	}
	if err := p.client.Patch(ctx, nc, specPatch(u)); err != nil {
		if u.moves() && apierrors.IsConflict(err) {
			return nil, nil
		}
		return nil, wrap(client.IgnoreNotFound(err), "cannot patch NodeCatalog "+nc.Name)
	}
	return writtenPart(nc), nil
}

// writtenPart returns what recordResult reads of an object that was written. A change of the fleet writes thousands before it records one.
func writtenPart(nc *v1alpha1.NodeCatalog) *v1alpha1.NodeCatalog {
	return &v1alpha1.NodeCatalog{
		ObjectMeta: metav1.ObjectMeta{Name: nc.Name, UID: nc.UID, Generation: nc.Generation},
		Spec:       v1alpha1.NodeCatalogSpec{Noop: nc.Spec.Noop, Held: nc.Spec.Held},
	}
}

// recordResult records the result of a write; nc is nil if the cache is behind. It returns no error for a NodeCatalog that the API
// server rejects, which concerns that node alone.
func (p *publisher) recordResult(ctx context.Context, u update, nc *v1alpha1.NodeCatalog, revision int, err error) error {
	switch {
	case err == nil:
		p.refusals.Accepted(u.node.Name)
		if nc != nil {
			now := spec{u.want.Spec, nc.UID, nc.Generation, nc.Generation, u.want.Digest, nc.Spec.Noop, revision, u.has != nil}
			now.Cleanup, now.Rollout = u.cleanup, u.rollout
			u.mark.set(&now.NodeCatalogSpec)
			p.specs.recordWrite(u.node.Name, u.before, now)
			p.announceHold(nc, u.before.Held)
		}
	case isRejection(err):
		if p.refusals.Refused(u.node.Name, u.want.Digest, err, p.clock.Now()) {
			p.announceRefusal(ctx, u.node.Name, err)
		}
	default:
		return err
	}
	return nil
}

func (p *publisher) announceRefusal(ctx context.Context, node string, err error) {
	ctrl.LoggerFrom(ctx).Error(err, "the API server rejects the NodeCatalog, so the node stays at its last one", "node", node)
	conditions.Record(p.recorder, &v1alpha1.NodeCatalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeCatalog"},
		ObjectMeta: metav1.ObjectMeta{Name: node},
	}, conditions.Event{
		Type: corev1.EventTypeWarning, Reason: v1alpha1.EventNotPublished, Action: "Publish", Note: nodestatus.RefusedMessage(err.Error()),
	})
}

// wholeRollout returns all fields of a value, empty ones too: a merge patch would keep the old ones.
func wholeRollout(r *v1alpha1.NodeRollout) any {
	if r == nil {
		return nil
	}
	return map[string]any{"policy": r.Policy, "revision": r.Revision, "since": r.Since, "departed": r.Departed, "types": r.Types}
}

// announceHolds logs how many nodes are held, and records an event on the Fleet if that begins or ends.
func (p *publisher) announceHolds(ctx context.Context, fleet *v1alpha1.Fleet, d decision) {
	is, was := d.hold, d.before.hold
	if is.Nodes() != was.Nodes() {
		ctrl.LoggerFrom(ctx).Info("deselection budget: updates are held until they are confirmed or reverted", "nodes", is.Nodes(), "before", was.Nodes())
	}
	if fleet == nil {
		return
	}
	about := fleet.DeepCopy()
	about.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Fleet"}
	switch {
	case is.Token != "" && was.Token == "":
		conditions.Record(p.recorder, about, conditions.Event{Type: corev1.EventTypeWarning, Reason: v1alpha1.ReasonDeselectionHeld, Action: "Publish", Note: is.Status().Message})
	case is.Token == "" && was.Token != "":
		conditions.Record(p.recorder, about, conditions.Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDeselectionReleased, Action: "Publish", Note: "no update is held any more"})
	}
}

// specPatch replaces the lists of a spec that differ. Empty lists are written out, since a merge
// patch would keep the old ones. noop and disabled are left to people.
//
// A node is moved to another revision only if nobody else has changed its NodeCatalog: a manager that is no longer the leader, and has yet
// to notice, must not undo what the next one does.
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
	if !apiequality.Semantic.DeepEqual(before.Rollout, u.rollout) {
		patch["rollout"] = wholeRollout(u.rollout)
	}
	maps.Copy(patch, u.mark.patch(before.NodeCatalogSpec))
	// One empty entry drops all managed fields, which grow with what agents write.
	metadata := map[string]any{"managedFields": []any{map[string]any{}}}
	if u.moves() {
		metadata["resourceVersion"] = u.has.ResourceVersion
	}
	return mergePatch{"spec": patch, "metadata": metadata}
}
