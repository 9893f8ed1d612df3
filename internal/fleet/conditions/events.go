package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/host"
)

// An Event is a Kubernetes event to be recorded. The recorder counts events with the same
// reason and object in one series with the first one's note, unless their related objects
// differ.
type Event struct {
	Type, Reason, Action, Note string
	Related                    runtime.Object // nil for none
}

// Drift returns the resource that drifted, if that is what the event is about.
func (e Event) Drift() (v1alpha1.ResourceRef, bool) {
	o, ok := e.Related.(*corev1.ObjectReference)
	if !ok || e.Reason != v1alpha1.EventDriftCorrected && e.Reason != v1alpha1.EventDriftDetected {
		return "", false
	}
	return v1alpha1.ResourceRef(o.Kind + "/" + o.Name), true
}

// DriftCorrected returns the event of a resource whose drift nodes corrected: where, as the end of a sentence, and one of them.
func DriftCorrected(where, node string) Event {
	return Event{corev1.EventTypeNormal, v1alpha1.EventDriftCorrected, "Apply", "drift corrected " + where, relatedNode(node)}
}

// DriftDetected is [DriftCorrected] for drift that was only reported.
func DriftDetected(where, node string) Event {
	return Event{corev1.EventTypeWarning, v1alpha1.EventDriftDetected, "Apply", "drift reported, and not corrected because of noop, " + where, relatedNode(node)}
}

// relatedNode is the node that an event on a resource is about, nil for "".
func relatedNode(name string) runtime.Object {
	if name == "" {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: name}
}

// Record records events about an object.
func Record(recorder events.EventRecorder, about runtime.Object, all ...Event) {
	for _, e := range all {
		recorder.Eventf(about, e.Related, e.Type, e.Reason, e.Action, "%s", nodestatus.Message(e.Note))
	}
}

// maxEvents bounds the events that one update of a node's status may cause.
const maxEvents = 10

// ResourceEvents returns the transitions between two statuses of a resource. One that begins on nodes is related to the one
// that needs a person most.
func ResourceEvents(before, now v1alpha1.ResourceStatus) []Event {
	return slices.Concat(
		stalledEvents(find(before, v1alpha1.ConditionStalled), find(now, v1alpha1.ConditionStalled)),
		readyEvents(find(before, v1alpha1.ConditionReady), find(now, v1alpha1.ConditionReady), now.Samples),
		contestEvents(find(before, v1alpha1.ConditionContended), find(now, v1alpha1.ConditionContended)))
}

// contestEvents leave out the end of a contest: it is only over as far as a node can tell.
func contestEvents(was, is metav1.Condition) []Event {
	if isTrue(is) && !isTrue(was) {
		return []Event{{corev1.EventTypeWarning, v1alpha1.EventContended, "Aggregate", is.Message, nil}}
	}
	return nil
}

// stalledEvents are about problems that the compiler finds. A failure is an event of the node
// on which it happened.
func stalledEvents(was, is metav1.Condition) []Event {
	wasStalled := isTrue(was) && was.Reason != v1alpha1.ReasonFailed
	isStalled := isTrue(is) && is.Reason != v1alpha1.ReasonFailed
	switch {
	case isStalled && (!wasStalled || was.Reason != is.Reason):
		return []Event{{corev1.EventTypeWarning, v1alpha1.EventProblemFound, "Compile", is.Reason + ": " + is.Message, nil}}
	case wasStalled && !isStalled:
		return []Event{{corev1.EventTypeNormal, v1alpha1.EventProblemResolved, "Compile", was.Reason + " is resolved", nil}}
	}
	return nil
}

// readyEvents leaves out the start of a rollout and of a deletion: someone asked for them.
func readyEvents(was, is metav1.Condition, samples []v1alpha1.NodeSample) []Event {
	switch {
	case isTrue(is) && !isTrue(was):
		return []Event{{corev1.EventTypeNormal, v1alpha1.EventBecameReady, "Aggregate", is.Message, nil}}
	case isTrue(was) && !isTrue(is) && is.Reason != v1alpha1.ReasonApplying && is.Reason != v1alpha1.ReasonCleaningUp:
		node := ""
		if len(samples) > 0 {
			node = samples[0].Node
		}
		return []Event{{corev1.EventTypeWarning, v1alpha1.EventNoLongerReady, "Aggregate", is.Message, relatedNode(node)}}
	}
	return nil
}

func find(s v1alpha1.ResourceStatus, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func isTrue(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue }

// NodeEvents returns what newly happened on a node between two of its statuses: failures, and drift.
func NodeEvents(before, now v1alpha1.NodeCatalogStatus) []Event {
	known := map[v1alpha1.ReportedRef]v1alpha1.ResourceReport{}
	for _, r := range before.Resources {
		known[r.Ref] = r
	}
	var all []Event
	for _, r := range now.Resources {
		if e, found := newly(known[r.Ref], r, now.Drift); found {
			all = append(all, e)
		}
	}
	return all[:min(len(all), maxEvents)]
}

// newly returns the event about a resource, if its node reports something new.
func newly(was, is v1alpha1.ResourceReport, records []v1alpha1.DriftRecord) (Event, bool) {
	same := was.State == is.State && was.Corrective && was.Since.Equal(is.Since)
	drift := func(kind, reason string) (Event, bool) {
		return Event{kind, reason, "Apply", note(is) + "; author: " + author(records, is.Ref), related(is.Ref)}, true
	}
	switch {
	case is.State == v1alpha1.StateFailed && was.State != v1alpha1.StateFailed:
		return Event{corev1.EventTypeWarning, v1alpha1.EventResourceFailed, "Apply", note(is), related(is.Ref)}, true
	case !is.Corrective || same:
		return Event{}, false
	case is.State == v1alpha1.StateChanged:
		return drift(corev1.EventTypeNormal, v1alpha1.EventDriftCorrected)
	case is.State == v1alpha1.StateNoop, is.OutOfSync:
		return drift(corev1.EventTypeWarning, v1alpha1.EventDriftDetected)
	}
	return Event{}, false
}

// related is the resource that an event on a NodeCatalog is about.
func related(ref v1alpha1.ReportedRef) runtime.Object {
	kind, name, _ := strings.Cut(string(ref), "/")
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersionOf(kind).String(), Kind: kind, Name: name}
}

// author describes who changed a resource, according to the records of its node.
func author(records []v1alpha1.DriftRecord, ref v1alpha1.ReportedRef) string {
	for _, r := range records {
		if r.Ref == ref {
			return (*host.Author)(r.Author).String()
		}
	}
	return (*host.Author)(nil).String()
}

func note(r v1alpha1.ResourceReport) string {
	var changes []string
	for _, c := range r.Changes {
		if r.State == v1alpha1.StateNoop {
			changes = append(changes, fmt.Sprintf("%s is %q and should be %q", c.Property, c.Is, c.Should))
			continue
		}
		changes = append(changes, fmt.Sprintf("%s changed %q to %q", c.Property, c.Is, c.Should))
	}
	return fmt.Sprintf("%s: %s", r.Ref, cmp.Or(r.Message, strings.Join(changes, "; ")))
}
