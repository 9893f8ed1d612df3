package status

import (
	"fmt"
	"slices"

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
		{v1alpha1.ConditionReady, ready(s, problem)},
		{v1alpha1.ConditionReconciling, reconciling(s, problem)},
		{v1alpha1.ConditionStalled, stalled(problem)},
		{v1alpha1.ConditionDegraded, degraded(s, problem, in.OutdatedTypes)},
	} {
		meta.SetStatusCondition(&out, metav1.Condition{
			Type: c.kind, Status: c.status, Reason: c.reason, Message: cut(c.message, 2*maxMessage),
			ObservedGeneration: s.ObservedGeneration, LastTransitionTime: metav1.NewTime(in.Now),
		})
	}
	return out
}

func ready(s v1alpha1.NodeCatalogStatus, problem *Problem) outcome {
	if problem != nil {
		return outcome{metav1.ConditionFalse, problem.Reason, problem.Message}
	}
	if applying := reconciling(s, nil); applying.status == metav1.ConditionTrue {
		return outcome{metav1.ConditionFalse, applying.reason, applying.message}
	}
	withheld := refsOf(s.Resources, v1alpha1.StateWithheld)
	switch c := s.Counts; {
	case c.Failed > 0:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonResourcesFailed, failures(s)}
	case len(withheld) > 0:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonWithheld, countedList(len(withheld), "withheld", withheld)}
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

func reconciling(s v1alpha1.NodeCatalogStatus, problem *Problem) outcome {
	switch {
	case problem != nil && problem.Reason == v1alpha1.ReasonApplying:
		return outcome{metav1.ConditionTrue, v1alpha1.ReasonApplying, problem.Message}
	case problem != nil || s.Counts != nil && s.AppliedGeneration == s.ObservedGeneration:
		return outcome{metav1.ConditionFalse, v1alpha1.ReasonSettled, ""}
	}
	return outcome{metav1.ConditionTrue, v1alpha1.ReasonApplying, fmt.Sprintf("generation %d is not applied yet", s.ObservedGeneration)}
}

func stalled(problem *Problem) outcome {
	if problem != nil {
		switch problem.Reason {
		case v1alpha1.ReasonCatalogInvalid, v1alpha1.ReasonCatalogUnavailable, v1alpha1.ReasonDisabled:
			return outcome{metav1.ConditionTrue, problem.Reason, problem.Message}
		}
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
