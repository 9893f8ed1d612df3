package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// A mark is the part of the spec of a NodeCatalog that changes nothing that the node is to have.
type mark struct {
	held          *v1alpha1.Held     // nil for a node that is updated
	fleetDisabled *v1alpha1.Disabled // a copy of the Fleet's
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

// A markUpdate is a NodeCatalog whose mark is not the desired one.
type markUpdate struct {
	node   string
	before spec
	mark   mark // to be written
}

// planMarks returns the NodeCatalogs whose mark alone must change, by node. Updates of specs mark their nodes, too.
func planMarks(nodes map[string]node, fleetDisabled *v1alpha1.Disabled) (updates []markUpdate) {
	for name, n := range nodes {
		u := markUpdate{name, n.spec, mark{held: n.Held, fleetDisabled: fleetDisabled}}
		if n.Reported != nil && len(u.mark.patch(u.before.NodeCatalogSpec)) > 0 {
			updates = append(updates, u)
		}
	}
	slices.SortFunc(updates, func(a, b markUpdate) int { return strings.Compare(a.node, b.node) })
	return updates
}

// mark marks the NodeCatalogs of nodes that are held, or disabled by the Fleet, and removes the marks of others. It returns when to
// come back for the rest.
func (p *publisher) mark(ctx context.Context, sc *scope, nodes map[string]node) (time.Duration, error) {
	if sc.uninstall.inProgress() {
		return 0, nil
	}
	updates := planMarks(nodes, sc.disabled)
	portion := updates[:min(len(updates), maxPortion)]
	written := make([]*v1alpha1.NodeCatalog, len(portion))
	errs := each(len(portion), func(i int) (err error) {
		written[i], err = p.writeMark(ctx, portion[i])
		return err
	})
	took := false // the definition of an older version drops marks
	for i, nc := range written {
		if nc != nil {
			took = p.recordMark(nc, portion[i].before) || took
		}
	}
	if len(portion) < len(updates) && took {
		return limits.Debounce, errors.Join(errs...)
	}
	return 0, errors.Join(errs...)
}

// writeMark returns nil if the NodeCatalog is gone.
func (p *publisher) writeMark(ctx context.Context, u markUpdate) (*v1alpha1.NodeCatalog, error) {
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: u.node}}
	if err := p.client.Patch(ctx, nc, mergePatch{"spec": u.mark.patch(u.before.NodeCatalogSpec)}); err != nil {
		return nil, wrap(client.IgnoreNotFound(err), "cannot mark NodeCatalog "+u.node)
	}
	return nc, nil
}

// recordMark records a mark that was written, and reports whether it took effect.
func (p *publisher) recordMark(nc *v1alpha1.NodeCatalog, before spec) bool {
	now := before
	now.generation = nc.Generation
	markOf(nc.Spec).set(&now.NodeCatalogSpec)
	p.specs.recordWrite(nc.Name, before, now)
	p.announceHold(nc, before.Held)
	return nc.Generation != before.generation
}

// announceHold records an event if a node has become held, or is held no longer.
func (p *publisher) announceHold(nc *v1alpha1.NodeCatalog, was *v1alpha1.Held) {
	is := nc.Spec.Held
	about := &v1alpha1.NodeCatalog{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeCatalog"},
		ObjectMeta: metav1.ObjectMeta{Name: nc.Name, UID: nc.UID},
	}
	switch {
	case is != nil && was == nil:
		conditions.Record(p.recorder, about, conditions.Event{Type: corev1.EventTypeWarning, Reason: v1alpha1.EventUpdateHeld, Action: "Publish", Note: nodestatus.HeldMessage(*is)})
	case is == nil && was != nil:
		conditions.Record(p.recorder, about, conditions.Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventUpdateReleased, Action: "Publish", Note: "the node is updated again"})
	}
}
