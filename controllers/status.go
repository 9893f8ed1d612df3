package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/counts"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// A statusUpdate is a status to be written.
type statusUpdate struct {
	resource v1alpha1.Resource // with the status that it has
	status   v1alpha1.ResourceStatus
}

// statusPeriod is the minimum time between two writes of one status, unless somebody waits for the
// second: a wave of nodes that report becomes a few writes. driftPeriod is the period between two writes of which
// only the drift differs.
const statusPeriod, driftPeriod = 5 * time.Second, 30 * time.Second

// A writtenStatus is what decides whether a status follows another at once.
type writtenStatus struct {
	v1alpha1.ResourceStatus
	at time.Time
}

// outdated reports whether the status may be forgotten. One with drift stays while its resource exists: see due.
func (w writtenStatus) outdated(exists bool, now time.Time) bool {
	return (w.Drift == nil || !exists) && now.Sub(w.at) >= driftPeriod
}

// due reports whether next is to be written over has, and how long it has to wait: not at all if it
// answers an edit, or if the last node has applied one. Drift is written once: the definition of an
// external type that was built for an older manager removes it.
func (w writtenStatus) due(has, next v1alpha1.ResourceStatus, now time.Time) (wait time.Duration, due bool) {
	period := statusPeriod
	if has.Drift = next.Drift; apiequality.Semantic.DeepEqual(has, next) {
		if !w.at.IsZero() && apiequality.Semantic.DeepEqual(w.Drift, next.Drift) {
			return 0, false
		}
		period = driftPeriod
	}
	was, is := isReconciling(w.ResourceStatus), isReconciling(next)
	if w.at.IsZero() || next.ObservedGeneration != w.ObservedGeneration || was && !is {
		return 0, true
	}
	return w.at.Add(period).Sub(now), true
}

func isReconciling(s v1alpha1.ResourceStatus) bool {
	return meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReconciling)
}

// planStatuses returns the updates of resources that nodes are to have, and counts these and the nodes.
func planStatuses(sc *scope, d desired, nodes map[string]node, records *drift.Records, now metav1.Time) (updates []statusUpdate, fleetCounts *counts.Counts) {
	fleetCounts = counts.New(sc.kindNames())
	fleetCounts.Deselection = d.hold.Status()
	var index nodestatus.Index
	for name, n := range nodes {
		index.Add(n.Node)
		fleetCounts.AddNode(name, n.State())
		if n.Waiting != nil {
			fleetCounts.Waiting++
		}
	}
	deselected, rollouts := planDeselected(sc, d, nodes), rolloutsOf(nodes, d.assignments)
	heard := func(node string) bool { return !nodes[node].Silent }
	for ref, o := range sc.live {
		generation, compiled := d.generations[ref]
		if !compiled {
			continue // it came after the last compilation, and has caused the next
		}
		problems := d.problems[ref]
		if held, ok := d.hold.Problem(ref); ok {
			problems = append(slices.Clone(problems), held)
		}
		if kept := d.kept[ref]; kept != nil {
			problems = append(slices.Clone(problems), compiler.KeptProblem(ref, kept))
		}
		selected := d.Selected[ref]
		next := conditions.Status(conditions.Outcome{
			Generation: generation, Summary: index.Summarize(ref, selected), Problems: problems, Selector: conditions.Selector(o.GetTargeting()),
			ActingNode: sc.actingNode(ref, selected), Deselected: deselected[ref].Deselected(), Rollout: rollouts[ref],
			Drift: records.Of(ref, selected), Contest: records.Contest(ref, selected, heard),
		}, *o.GetStatus(), now)
		fleetCounts.AddResource(o.KindName(), conditions.Summarize(next))
		updates = appendIfChanged(updates, o, next)
	}
	return updates, fleetCounts
}

// actingNode returns the node that acts for a resource of a Remote type, or "" if no node does.
func (sc *scope) actingNode(ref v1alpha1.ResourceRef, selected []string) string {
	if sc.isRemote(ref) && len(selected) > 0 {
		return selected[0]
	}
	return ""
}

func appendIfChanged(updates []statusUpdate, o v1alpha1.Resource, next v1alpha1.ResourceStatus) []statusUpdate {
	if apiequality.Semantic.DeepEqual(*o.GetStatus(), next) {
		return updates
	}
	return append(updates, statusUpdate{o, next})
}

// A statusWriter writes the statuses of resources, and remembers those that it wrote lately, and of those with drift all.
type statusWriter struct {
	client   client.Client
	recorder events.EventRecorder
	written  map[v1alpha1.ResourceRef]writtenStatus
}

// write writes the statuses that are due, and returns when those are due that were written too recently.
func (w *statusWriter) write(ctx context.Context, updates []statusUpdate, s *snapshot, now time.Time) (time.Duration, error) {
	maps.DeleteFunc(w.written, func(ref v1alpha1.ResourceRef, was writtenStatus) bool { return was.outdated(s.live[ref] != nil, now) })
	var due []statusUpdate
	var next limits.Wait
	for _, u := range updates {
		wait, isDue := w.written[v1alpha1.RefOf(u.resource)].due(*u.resource.GetStatus(), u.status, now)
		switch {
		case !isDue:
		case wait > 0:
			next.Add(wait)
		default:
			due = append(due, u)
		}
	}
	errs := each(len(due), func(i int) error { return w.writeOne(ctx, due[i]) })
	for i, err := range errs {
		if err == nil {
			w.written[v1alpha1.RefOf(due[i].resource)] = writtenStatus{due[i].status, now}
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

func (w *statusWriter) writeOne(ctx context.Context, u statusUpdate) error {
	ref := v1alpha1.RefOf(u.resource)
	err := w.client.Status().Patch(ctx, patchable(u.resource), statusPatch(u.status))
	if err == nil {
		conditions.Record(w.recorder, u.resource, conditions.ResourceEvents(*u.resource.GetStatus(), u.status)...)
	}
	return wrap(client.IgnoreNotFound(err), "cannot write the status of "+string(ref))
}

// writeTypes writes the status of every ExternalType that has changed.
func (w *statusWriter) writeTypes(ctx context.Context, types []externalkinds.Type) error {
	errs := each(len(types), func(i int) error {
		status, outdated := types[i].Outdated()
		if !outdated {
			return nil
		}
		o := &v1alpha1.ExternalType{ObjectMeta: metav1.ObjectMeta{Name: types[i].Name}}
		err := w.client.Status().Patch(ctx, o, mergePatch{"status": status})
		return wrap(client.IgnoreNotFound(err), "cannot write the status of ExternalType "+types[i].Name)
	})
	return errors.Join(errs...)
}

// statusPatch replaces a whole status. Empty lists are written out, since a merge patch would keep
// the old ones.
func statusPatch(s v1alpha1.ResourceStatus) mergePatch {
	return mergePatch{"status": map[string]any{
		"observedGeneration": s.ObservedGeneration,
		"appliedGeneration":  s.AppliedGeneration,
		"actingNode":         s.ActingNode,
		"nodes":              s.Nodes,
		"samples":            s.Samples,
		"drift":              s.Drift,
		"conditions":         s.Conditions,
	}}
}
