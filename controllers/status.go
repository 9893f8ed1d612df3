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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/counts"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// A statusUpdate is a status to be written.
type statusUpdate struct {
	resource v1alpha1.Resource // with the status that it has
	status   v1alpha1.ResourceStatus
}

// statusPeriod is the minimum time between two writes of one status, unless somebody waits for the
// second: a wave of nodes that report becomes a few writes. driftPeriod is that between two of which
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

// reportStatuses writes the status of every resource that has changed, and returns when those are
// due that were written too recently.
func (r *Fleet) reportStatuses(ctx context.Context, s *snapshot) (time.Duration, error) {
	var due []statusUpdate
	var next limits.Wait
	now := metav1.NewTime(r.Clock.Now())
	maps.DeleteFunc(r.statusWritten, func(ref v1alpha1.ResourceRef, w writtenStatus) bool { return w.outdated(s.live[ref] != nil, now.Time) })
	for _, u := range slices.Concat(r.planStatuses(s, now), r.planDeletionStatuses(now)) {
		wait, isDue := r.statusWritten[v1alpha1.RefOf(u.resource)].due(*u.resource.GetStatus(), u.status, now.Time)
		switch {
		case !isDue:
		case wait > 0:
			next.Add(wait)
		default:
			due = append(due, u)
		}
	}
	errs := each(len(due), func(i int) error { return r.writeStatus(ctx, due[i]) })
	for i, err := range errs {
		if err == nil {
			r.statusWritten[v1alpha1.RefOf(due[i].resource)] = writtenStatus{due[i].status, now.Time}
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

// indexNodes derives the state of all resources from what nodes report, and counts the nodes.
func (r *Fleet) indexNodes(s *snapshot) *nodestatus.Index {
	index := &nodestatus.Index{}
	r.records.Retain(func(node string) bool { return s.nodeCatalogs[node] != nil })
	for name, want := range r.compiled.Nodes {
		n := r.nodeStatus(name, want, s.nodeCatalogs[name])
		index.Add(n)
		if n.Reported != nil {
			r.records.Observe(name, n.Reported.Status.Drift, r.Clock.Now())
		}
		r.counts.AddNode(name, n.State())
	}
	return index
}

func (r *Fleet) nodeStatus(name string, want *compiler.NodeResult, nc *v1alpha1.NodeCatalog) nodestatus.Node {
	progress := nodestatus.Progress{All: true}
	if nc != nil {
		current := r.specs.of(nc).applied(want.Digest, nc.Status)
		progress = r.progress.Observe(name, nc.Status.AppliedDigest, current)
	}
	return nodestatus.Node{
		Name: name, Desired: want, Reported: nc, Progress: progress,
		Silent: r.Heartbeats.Silent(name), Held: r.held[name], Refused: r.refusals.Error(name),
	}
}

// planStatuses returns the updates of resources that nodes are to have.
func (r *Fleet) planStatuses(s *snapshot, now metav1.Time) (updates []statusUpdate) {
	r.counts = counts.New(s.kindNames())
	index, deselected := r.indexNodes(s), r.deselected(s)
	for ref, o := range s.live {
		generation, compiled := r.compiled.generations[ref]
		if !compiled {
			continue // it came after the last compilation, and has caused the next
		}
		problems := r.compiled.problems[ref]
		if held, ok := r.hold.Problem(ref); ok {
			problems = append(slices.Clone(problems), held)
		}
		summary := index.Summarize(ref, r.compiled.Selected[ref])
		next := conditions.Status(conditions.Outcome{
			Generation: generation, Summary: summary, Problems: problems, Selector: conditions.Selector(o.GetTargeting()),
			ActingNode: r.actingNode(s, ref), Deselected: deselected[ref].Deselected(), Drift: r.records.Of(ref, r.compiled.Selected[ref]),
			Contest: r.records.Contest(ref, r.compiled.Selected[ref], func(node string) bool { return !r.Heartbeats.Silent(node) }),
		}, *o.GetStatus(), now)
		r.counts.AddResource(o.KindName(), conditions.Summarize(next))
		updates = appendIfChanged(updates, o, next)
	}
	r.Metrics.setCounts(r.counts)
	return updates
}

// actingNode returns the node that acts for a resource of a Remote type, "" if there is none.
func (r *Fleet) actingNode(s *snapshot, ref v1alpha1.ResourceRef) string {
	if selected := r.compiled.Selected[ref]; s.isRemote(ref) && len(selected) > 0 {
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

func (r *Fleet) writeStatus(ctx context.Context, u statusUpdate) error {
	ref := v1alpha1.RefOf(u.resource)
	err := r.Client.Status().Patch(ctx, patchable(u.resource), statusPatch(u.status))
	if err == nil {
		conditions.Record(r.Recorder, u.resource, conditions.ResourceEvents(*u.resource.GetStatus(), u.status)...)
	}
	return wrap(client.IgnoreNotFound(err), "cannot write the status of "+string(ref))
}

// reportTypes writes the status of every ExternalType that has changed.
func (r *Fleet) reportTypes(ctx context.Context, s *snapshot) (time.Duration, error) {
	errs := each(len(s.external.Types), func(i int) error {
		t := s.external.Types[i]
		status, outdated := t.Outdated()
		if !outdated {
			return nil
		}
		o := &v1alpha1.ExternalType{ObjectMeta: metav1.ObjectMeta{Name: t.Name}}
		err := r.Client.Status().Patch(ctx, o, mergePatch{"status": status})
		return wrap(client.IgnoreNotFound(err), "cannot write the status of ExternalType "+t.Name)
	})
	return 0, errors.Join(errs...)
}

// reportDrift records the drift of nodes on the resources, and returns when the next event is due.
func (r *Fleet) reportDrift(_ context.Context, s *snapshot) (time.Duration, error) {
	var next limits.Wait
	record := func(from *drift.Summary, event func(where, node string) conditions.Event) {
		notes, left := from.Due(r.Clock.Now(), r.compiled.Selected)
		for ref, note := range notes {
			if o := s.live[ref]; o != nil {
				conditions.Record(r.Recorder, o, event(note.Where, note.Node))
			}
		}
		next.Add(left)
	}
	record(&r.corrected, conditions.DriftCorrected)
	record(&r.detected, conditions.DriftDetected)
	return time.Duration(next), nil
}

// planDeletionStatuses returns the updates of resources whose deletion waits for nodes.
func (r *Fleet) planDeletionStatuses(now metav1.Time) (updates []statusUpdate) {
	for o, w := range r.deletions {
		if !w.Done() {
			updates = appendIfChanged(updates, o, conditions.Status(w.Outcome(o), *o.GetStatus(), now))
		}
	}
	return updates
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
