package policies

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Event is a Kubernetes event about a policy.
type Event struct{ Type, Reason, Note string }

// Events returns the events about the transition between two statuses of a policy: rollouts that ended, one that started, and what
// began or ceased to need a person.
func Events(before, after v1alpha1.RolloutPolicyStatus) []Event {
	return slices.Concat(endedEvents(before, after), startedEvents(before, after), haltEvents(before, after), unprovenEvents(before, after), problemEvents(before, after))
}

// endedEvents are about records that are new in history.
func endedEvents(before, after v1alpha1.RolloutPolicyStatus) (all []Event) {
	for _, r := range after.History {
		known := slices.ContainsFunc(before.History, func(b v1alpha1.RolloutRecord) bool {
			return b.Revision == r.Revision && b.Started.Equal(&r.Started) && b.Ended.Equal(&r.Ended)
		})
		former := r.Revision == before.Stable && r.Started.Equal(&r.Ended) // recorded when another one is completed
		if !known && !former {
			all = append(all, ended(r, after))
		}
	}
	slices.Reverse(all) // the earliest first
	return all
}

func ended(r v1alpha1.RolloutRecord, after v1alpha1.RolloutPolicyStatus) Event {
	revision, tally := v1alpha1.ShortRevision(r.Revision), fmt.Sprintf("%d of %s proven, %d failed", r.Nodes.Proven, text.Count(int(r.Nodes.Affected), "affected node"), r.Nodes.Failed)
	switch r.Outcome {
	case v1alpha1.RolloutUnproven:
		return Event{corev1.EventTypeWarning, v1alpha1.EventRolloutUnproven, "no node has tried revision " + revision}
	case v1alpha1.RolloutReplaced:
		return Event{corev1.EventTypeNormal, v1alpha1.EventRolloutReplaced, fmt.Sprintf("revision %s is replaced by %s: %s", revision, v1alpha1.ShortRevision(cmp.Or(after.Target, after.Stable)), tally)}
	case v1alpha1.RolloutCompleted:
	}
	return Event{corev1.EventTypeNormal, v1alpha1.EventRolloutCompleted, fmt.Sprintf("revision %s is rolled out: %s", revision, tally)}
}

func startedEvents(before, after v1alpha1.RolloutPolicyStatus) []Event {
	if after.Target == "" || after.Target == before.Target && after.Started.Equal(before.Started) {
		return nil
	}
	return []Event{{corev1.EventTypeNormal, v1alpha1.EventRolloutStarted, fmt.Sprintf("revision %s begins: %s", v1alpha1.ShortRevision(after.Target), text.Count(int(after.Nodes.Affected), "affected node"))}}
}

// haltEvents leave out the end of a halt by another target: its start says so.
func haltEvents(before, after v1alpha1.RolloutPolicyStatus) []Event {
	was, is := stalledFor(before), stalledFor(after)
	const halt = v1alpha1.ReasonRolloutHalted
	switch {
	case is.Reason == halt && (was.Reason != halt || before.Target != after.Target):
		return []Event{{corev1.EventTypeWarning, v1alpha1.EventRolloutHalted, is.Message}}
	case was.Reason == halt && is.Reason != halt && before.Target == after.Target && after.Pending == "":
		return []Event{{corev1.EventTypeNormal, v1alpha1.EventRolloutResumed, fmt.Sprintf("revision %s is no longer halted", v1alpha1.ShortRevision(after.Target))}}
	}
	return nil
}

// unprovenEvents are about a rollout that goes on once a node can try its target.
func unprovenEvents(before, after v1alpha1.RolloutPolicyStatus) []Event {
	was, is := ready(before), ready(after)
	if after.Target == "" || is.Reason != v1alpha1.ReasonRolloutUnproven || was.Reason == is.Reason && before.Target == after.Target {
		return nil
	}
	return []Event{{corev1.EventTypeWarning, v1alpha1.EventRolloutUnproven, is.Message}}
}

// problemEvents are about everything else that needs a person.
func problemEvents(before, after v1alpha1.RolloutPolicyStatus) []Event {
	was, is := problem(before), problem(after)
	switch {
	case is.Reason != "" && is.Reason != was.Reason:
		return []Event{{corev1.EventTypeWarning, v1alpha1.EventProblemFound, is.Reason + ": " + is.Message}}
	case was.Reason != "" && is.Reason == "":
		return []Event{{corev1.EventTypeNormal, v1alpha1.EventProblemResolved, was.Reason + " is resolved"}}
	}
	return nil
}

// problem is the condition Stalled if it is True, and not because of a halt.
func problem(s v1alpha1.RolloutPolicyStatus) metav1.Condition {
	if c := stalledFor(s); c.Reason != v1alpha1.ReasonRolloutHalted {
		return c
	}
	return metav1.Condition{}
}

// stalledFor is the condition Stalled if it is True.
func stalledFor(s v1alpha1.RolloutPolicyStatus) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return *c
	}
	return metav1.Condition{}
}

func ready(s v1alpha1.RolloutPolicyStatus) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}
