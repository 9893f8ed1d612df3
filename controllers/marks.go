package controllers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// A mark is the part of the spec of a NodeCatalog that changes nothing that the node is to have.
type mark struct {
	held          *v1alpha1.Held     // nil for a node that is updated
	fleetDisabled *v1alpha1.Disabled // a copy of that of the Fleet
}

// markOf returns the mark of a spec.
func markOf(spec v1alpha1.NodeCatalogSpec) mark { return mark{spec.Held, spec.FleetDisabled} }

// set sets the mark of a spec.
func (m mark) set(spec *v1alpha1.NodeCatalogSpec) {
	spec.Held, spec.FleetDisabled = m.held, m.fleetDisabled
}

// patch returns the fields of a spec that differ.
func (m mark) patch(before v1alpha1.NodeCatalogSpec) map[string]any {
	patch, was := map[string]any{}, markOf(before)
	if !apiequality.Semantic.DeepEqual(was.held, m.held) {
		patch["held"] = wholeHeld(m.held)
	}
	if !apiequality.Semantic.DeepEqual(was.fleetDisabled, m.fleetDisabled) {
		patch["fleetDisabled"] = wholeDisabled(m.fleetDisabled)
	}
	return patch
}

// wholeHeld returns all fields of a value, empty ones too: a merge patch would keep the old ones.
func wholeHeld(h *v1alpha1.Held) any {
	if h == nil {
		return nil
	}
	return map[string]any{"since": h.Since, "resources": h.Resources, "omitted": h.Omitted}
}

// wholeDisabled is wholeHeld for another type.
func wholeDisabled(d *v1alpha1.Disabled) any {
	if d == nil {
		return nil
	}
	return map[string]any{"reason": d.Reason, "until": d.Until}
}

// markOfNode returns the mark that a node is to have.
func (r *Fleet) markOfNode(name string) mark {
	return mark{held: r.held[name], fleetDisabled: r.fleetSpec.Disabled}
}

// markNodes marks the NodeCatalogs of nodes that are held, and removes the marks of others. Updates of specs mark their nodes, too.
func (r *Fleet) markNodes(ctx context.Context, s *snapshot) (time.Duration, error) {
	if r.uninstall.inProgress() {
		return 0, nil
	}
	before := map[string]spec{}
	for name, nc := range s.nodeCatalogs {
		if is := r.specs.of(nc); r.compiled.Nodes[name] != nil && len(r.markOfNode(name).patch(is.NodeCatalogSpec)) > 0 {
			before[name] = is
		}
	}
	names := slices.Sorted(maps.Keys(before))
	names, left := names[:min(len(names), maxPortion)], len(names) > maxPortion
	written := make([]*v1alpha1.NodeCatalog, len(names))
	errs := each(len(names), func(i int) (err error) {
		written[i], err = r.writeMark(ctx, names[i], before[names[i]])
		return err
	})
	took := false // the definition of an older version drops marks
	for i, nc := range written {
		if nc != nil {
			took = r.noteMark(nc, before[names[i]]) || took
		}
	}
	if left && took {
		return limits.Debounce, errors.Join(errs...)
	}
	return 0, errors.Join(errs...)
}

// writeMark returns nil if the NodeCatalog is gone.
func (r *Fleet) writeMark(ctx context.Context, node string, before spec) (*v1alpha1.NodeCatalog, error) {
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}}
	patch := mergePatch{"spec": r.markOfNode(node).patch(before.NodeCatalogSpec)}
	if err := r.Client.Patch(ctx, nc, patch); err != nil {
		return nil, wrap(client.IgnoreNotFound(err), "cannot mark NodeCatalog "+node)
	}
	return nc, nil
}

// noteMark notes a mark that was written, and reports whether it took effect.
func (r *Fleet) noteMark(nc *v1alpha1.NodeCatalog, before spec) bool {
	now := before
	now.generation = nc.Generation
	markOf(nc.Spec).set(&now.NodeCatalogSpec)
	r.specs.wrote(nc.Name, before, now)
	r.announceHold(nc, before.Held)
	return nc.Generation != before.generation
}

// announceHold records an event if a node has become held, or is held no longer.
func (r *Fleet) announceHold(nc *v1alpha1.NodeCatalog, was *v1alpha1.Held) {
	is := nc.Spec.Held
	about := &v1alpha1.NodeCatalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeCatalog"},
		ObjectMeta: metav1.ObjectMeta{Name: nc.Name, UID: nc.UID},
	}
	switch {
	case is != nil && was == nil:
		conditions.Record(r.Recorder, about, conditions.Event{Type: corev1.EventTypeWarning, Reason: v1alpha1.EventUpdateHeld, Action: "Publish", Note: nodestatus.HeldMessage(*is)})
	case is == nil && was != nil:
		conditions.Record(r.Recorder, about, conditions.Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventUpdateReleased, Action: "Publish", Note: "the node is updated again"})
	}
}

// loss returns what a node is about to lose.
func (r *Fleet) loss(u update, removed []v1alpha1.ResourceRef) deselection.Loss {
	l := deselection.Loss{Node: u.node.Name, State: u.before.heldAs(r.heldSince(u)), Refs: removed}
	if held := u.before.Held; held != nil {
		l.Since = held.Since.Time
	}
	return l
}

// heldSince returns when the hold of a node began: now, unless it is held already.
func (r *Fleet) heldSince(u update) metav1.Time {
	if held := cmp.Or(u.before.Held, r.held[u.node.Name]); held != nil {
		return held.Since
	}
	return metav1.NewTime(r.Clock.Now().UTC().Truncate(time.Second))
}

// setHold notes what is held, and records an event on the Fleet if that begins or ends.
func (r *Fleet) setHold(ctx context.Context, s *snapshot, hold deselection.Hold, updates []update) {
	held := map[string]*v1alpha1.Held{}
	for _, u := range updates {
		if m := hold.Mark(u.node.Name); m != nil {
			m.Since = r.heldSince(u)
			held[u.node.Name] = m
		}
	}
	before := r.hold
	r.hold, r.held = hold, held
	if hold.Nodes() != before.Nodes() {
		ctrl.LoggerFrom(ctx).Info("deselection budget: updates are held until they are confirmed or reverted", "nodes", hold.Nodes(), "before", before.Nodes())
	}
	if s.fleet == nil {
		return
	}
	about := s.fleet.DeepCopy()
	about.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Fleet"}
	switch {
	case hold.Token != "" && before.Token == "":
		conditions.Record(r.Recorder, about, conditions.Event{Type: corev1.EventTypeWarning, Reason: v1alpha1.ReasonDeselectionHeld, Action: "Publish", Note: hold.Status().Message})
	case hold.Token == "" && before.Token != "":
		conditions.Record(r.Recorder, about, conditions.Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventDeselectionReleased, Action: "Publish", Note: "no update is held any more"})
	}
}
