package controllers

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// An occurrence is what an event says. Events of one reason and object are counted in
// one series with the first one's note, unless what they relate to tells them apart.
type occurrence struct {
	kind, reason, action, note string
	related                    runtime.Object // nil for none
}

// maxOccurrences is how many events one change of an object may cause.
const maxOccurrences = 10

func emit(recorder events.EventRecorder, about runtime.Object, all []occurrence) {
	for _, o := range all {
		recorder.Eventf(about, o.related, o.kind, o.reason, o.action, "%s", shortened(o.note))
	}
}

// becameReady: all nodes are in sync that were not before.
func becameReady(note string) occurrence {
	return occurrence{corev1.EventTypeNormal, v1alpha1.EventBecameReady, "Aggregate", note, nil}
}

// noLongerReady: a node is not in sync any more, and nobody has changed the resource.
func noLongerReady(note string) occurrence {
	return occurrence{corev1.EventTypeWarning, v1alpha1.EventNoLongerReady, "Aggregate", note, nil}
}

// problemFound: the resource can't be applied as it is.
func problemFound(reason, note string) occurrence {
	return occurrence{corev1.EventTypeWarning, v1alpha1.EventProblemFound, "Compile", reason + ": " + note, nil}
}

// problemResolved: what kept it from being applied is gone.
func problemResolved(reason string) occurrence {
	return occurrence{corev1.EventTypeNormal, v1alpha1.EventProblemResolved, "Compile", reason + " no longer holds it up", nil}
}

// driftCorrected: a host was changed behind Fettle's back, and is right again.
func driftCorrected(r v1alpha1.ResourceReport) occurrence {
	return occurrence{corev1.EventTypeNormal, v1alpha1.EventDriftCorrected, "Apply", note(r), relatedTo(r.Ref)}
}

// resourceFailed: a resource could not be read, changed or refreshed on the node.
func resourceFailed(r v1alpha1.ResourceReport) occurrence {
	return occurrence{corev1.EventTypeWarning, v1alpha1.EventResourceFailed, "Apply", note(r), relatedTo(r.Ref)}
}

// relatedTo names the resource that an event on a NodeCatalog is of.
func relatedTo(ref v1alpha1.ReportedRef) runtime.Object {
	kind, name, _ := strings.Cut(string(ref), "/")
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: name}
}

func note(r v1alpha1.ResourceReport) string {
	text := r.Message
	if text == "" {
		var parts []string
		for _, c := range r.Changes {
			parts = append(parts, fmt.Sprintf("%s changed %q to %q", c.Property, c.Is, c.Should))
		}
		text = strings.Join(parts, "; ")
	}
	return fmt.Sprintf("%s: %s", r.Ref, text)
}

// resourceEvents are the transitions between two statuses of a resource.
func resourceEvents(before, now v1alpha1.ResourceStatus) []occurrence {
	return append(
		stalledEvents(find(before, v1alpha1.ConditionStalled), find(now, v1alpha1.ConditionStalled)),
		readyEvents(find(before, v1alpha1.ConditionReady), find(now, v1alpha1.ConditionReady))...)
}

// stalledEvents are of problems that the compiler found. A failure is told by the node that
// had it.
func stalledEvents(was, is metav1.Condition) []occurrence {
	for _, c := range []*metav1.Condition{&was, &is} {
		if c.Reason == v1alpha1.ReasonFailed {
			c.Status = metav1.ConditionFalse
		}
	}
	switch {
	case isTrue(is) && (!isTrue(was) || was.Reason != is.Reason):
		return []occurrence{problemFound(is.Reason, is.Message)}
	case isTrue(was) && !isTrue(is):
		return []occurrence{problemResolved(was.Reason)}
	}
	return nil
}

// readyEvents has nothing to say of a rollout that is under way: someone asked for it.
func readyEvents(was, is metav1.Condition) []occurrence {
	switch {
	case isTrue(is) && !isTrue(was):
		return []occurrence{becameReady(is.Message)}
	case isTrue(was) && !isTrue(is) && is.Reason != v1alpha1.ReasonApplying && is.Reason != v1alpha1.ReasonCleaningUp:
		return []occurrence{noLongerReady(is.Message)}
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

// nodeEvents are what has newly happened on a node, between two of its statuses.
func nodeEvents(before, now v1alpha1.NodeCatalogStatus) []occurrence {
	known := map[v1alpha1.ReportedRef]v1alpha1.ResourceReport{}
	for _, r := range before.Resources {
		known[r.Ref] = r
	}
	var all []occurrence
	for _, r := range now.Resources {
		was := known[r.Ref]
		switch {
		case r.State == v1alpha1.StateFailed && was.State != v1alpha1.StateFailed:
			all = append(all, resourceFailed(r))
		case corrected(r) && !(corrected(was) && was.Since.Equal(r.Since)):
			all = append(all, driftCorrected(r))
		}
	}
	return all[:min(len(all), maxOccurrences)]
}

func corrected(r v1alpha1.ResourceReport) bool {
	return r.State == v1alpha1.StateChanged && r.Corrective
}
