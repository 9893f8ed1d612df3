package status

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// An outcome is a condition without its type.
type outcome struct {
	status          metav1.ConditionStatus
	reason, message string
}

// conditions are computed from the rest of the status and the input.
func conditions(s v1alpha1.NodeCatalogStatus, in Input) []metav1.Condition {
	problem := in.Problem
	out := slices.Clone(s.Conditions)
	for _, c := range []struct {
		kind string
		outcome
	}{
		{v1alpha1.ConditionReady, ready(s, problem, in.Held)},
		{v1alpha1.ConditionReconciling, reconciling(s, problem, in.Held)},
		{v1alpha1.ConditionStalled, stalled(problem, in.Held)},
		{v1alpha1.ConditionDegraded, degraded(s, problem, in.OutdatedTypes)},
	} {
		meta.SetStatusCondition(&out, metav1.Condition{
			Type: c.kind, Status: c.status, Reason: c.reason, Message: cut(c.message, 2*maxMessage),
			ObservedGeneration: s.ObservedGeneration, LastTransitionTime: metav1.NewTime(in.Now),
		})
	}
	return out
}

// ready has the first of what keeps the node from its desired state, causes before consequences.
func ready(s v1alpha1.NodeCatalogStatus, problem *Problem, held *v1alpha1.Held) outcome {
	switch {
	case problem != nil:
		return outcome{metav1.ConditionFalse, problem.Reason, problem.Message}
	case held != nil:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonUpdateHeld, heldMessage(*held)}
	}
	if applying := reconciling(s, nil, nil); applying.status == metav1.ConditionTrue {
		return outcome{metav1.ConditionFalse, applying.reason, applying.message}
	}
	switch c := s.Counts; {
	case c.Withheld > 0:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonWithheld, withheld(s)}
	case c.Failed > 0:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonResourcesFailed, failures(s)}
	case c.Skipped > 0:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonSkipped, countedList(int(c.Skipped), "skipped", refsOf(s.Resources, v1alpha1.StateSkipped))}
	case c.Noop > 0:
		return outcome{metav1.ConditionTrue, v1alpha1.ReasonNoop, countedList(int(c.Noop), "only reported", refsOf(s.Resources, v1alpha1.StateNoop))}
	}
	return outcome{metav1.ConditionTrue, v1alpha1.ReasonApplied, inSync(int(s.Counts.Total))}
}

func inSync(n int) string {
	if n == 1 {
		return "the resource is in sync"
	}
	return fmt.Sprintf("all %d resources are in sync", n)
}

func reconciling(s v1alpha1.NodeCatalogStatus, problem *Problem, held *v1alpha1.Held) outcome {
	switch {
	case problem == nil && held != nil:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonSettled, ""}
	case problem != nil && problem.Reason == v1alpha1.ReasonApplying:
		return outcome{metav1.ConditionTrue, v1alpha1.ReasonApplying, problem.Message}
	case problem != nil || s.Counts != nil && s.AppliedGeneration == s.ObservedGeneration:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonSettled, ""}
	}
	return outcome{metav1.ConditionTrue, v1alpha1.ReasonApplying, fmt.Sprintf("generation %d is not applied yet", s.ObservedGeneration)}
}

func stalled(problem *Problem, held *v1alpha1.Held) outcome {
	switch {
	case problem == nil && held != nil:
		return outcome{metav1.ConditionTrue, v1alpha1.ReasonUpdateHeld, heldMessage(*held)}
	case problem != nil && slices.Contains([]string{v1alpha1.ReasonCatalogInvalid, v1alpha1.ReasonCatalogUnavailable, v1alpha1.ReasonDisabled}, problem.Reason):
		return outcome{metav1.ConditionTrue, problem.Reason, problem.Message}
	}
	return outcome{metav1.ConditionFalse, v1alpha1.ReasonSettled, ""}
}

func degraded(s v1alpha1.NodeCatalogStatus, problem *Problem, outdated string) outcome {
	switch {
	case problem != nil && problem.Reason == v1alpha1.ReasonRunFailed:
		return outcome{metav1.ConditionTrue, problem.Reason, problem.Message}
	case s.Counts != nil && s.Counts.Failed > 0:
		return outcome{metav1.ConditionTrue, v1alpha1.ReasonResourcesFailed, failures(s)}
	case outdated != "":
		return outcome{metav1.ConditionTrue, v1alpha1.ReasonTypesOutdated, outdated}
	case s.OmittedFacts != "":
		return outcome{metav1.ConditionTrue, v1alpha1.ReasonFactsOmitted, fmt.Sprintf(
			"facts exceed %d KiB, %d names or %d levels of nesting; not available to templates and when: %s", maxFacts>>10, maxFactNames, maxFactDepth, s.OmittedFacts)}
	}
	return outcome{metav1.ConditionFalse, v1alpha1.ReasonSettled, ""}
}

// heldMessage explains that the manager does not update the node.
func heldMessage(h v1alpha1.Held) string {
	return fmt.Sprintf("the node is not updated since %s: it would lose %s, and too many nodes would be deselected at once; kubectl describe fleet.%s shows how to confirm that",
		h.Since.UTC().Format(time.RFC3339), text.ListOf(len(h.Resources)+int(h.Omitted), h.Resources), v1alpha1.GroupVersion.Group)
}

// withheld counts failures, too: they must not hide each other.
func withheld(s v1alpha1.NodeCatalogStatus) string {
	line := countedList(int(s.Counts.Withheld), "withheld", refsOf(s.Resources, v1alpha1.StateWithheld))
	if s.Counts.Failed > 0 {
		line += "; " + failures(s)
	}
	return line
}

func failures(s v1alpha1.NodeCatalogStatus) string {
	return countedList(int(s.Counts.Failed), "failed", refsOf(s.Resources, v1alpha1.StateFailed))
}

// countedList is "3 failed: File/a, File/b and 1 more".
func countedList(n int, what string, refs []string) string {
	return fmt.Sprintf("%d %s: %s", n, what, text.ListOf(n, refs))
}

func refsOf(resources []v1alpha1.ResourceReport, state v1alpha1.ResourceState) []string {
	var out []string
	for _, r := range resources {
		if r.State == state {
			out = append(out, string(r.Ref))
		}
	}
	return out
}
