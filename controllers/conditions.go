package controllers

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/text"
)

// An outcome is all that a resource's status is made from.
type outcome struct {
	generation int64
	gathering
	problems []compiler.Problem
	cleaning string // whom its deletion waits for; "" while it is not being deleted
}

// underway reports whether a node has yet to apply the generation, as far as is known.
func (o outcome) underway() bool { return o.counts.Pending+o.unapplied > 0 }

// newStatus is what a resource's status should be. Conditions that stay as they are
// keep the time of their last transition.
func newStatus(o outcome, before v1alpha1.ResourceStatus, now metav1.Time) v1alpha1.ResourceStatus {
	s := v1alpha1.ResourceStatus{
		ObservedGeneration: o.generation,
		AppliedGeneration:  before.AppliedGeneration,
		Nodes:              &o.counts,
		Samples:            o.samples,
		Conditions:         conditions(o),
	}
	if !o.underway() && len(o.problems) == 0 && o.cleaning == "" {
		s.AppliedGeneration = o.generation
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		c.ObservedGeneration, c.LastTransitionTime = o.generation, now
		for _, b := range before.Conditions {
			if b.Type == c.Type && b.Status == c.Status {
				c.LastTransitionTime = b.LastTransitionTime
			}
		}
	}
	return s
}

// conditions in the order Ready, Reconciling, Stalled, Conflict. A resource is never
// both Stalled and Reconciling, so that kstatus tells failed from in progress. One that
// failed on a node is tried again there, and Stalled all the same once nothing else is
// under way: what did not help once seldom helps the next time.
func conditions(o outcome) []metav1.Condition {
	if o.cleaning != "" {
		return []metav1.Condition{
			no(v1alpha1.ConditionReady, v1alpha1.ReasonCleaningUp, o.cleaning),
			yes(v1alpha1.ConditionReconciling, v1alpha1.ReasonCleaningUp, o.cleaning),
			no(v1alpha1.ConditionStalled, v1alpha1.ReasonSettled, ""),
		}
	}
	stalled := slices.DeleteFunc(slices.Clone(o.problems), func(p compiler.Problem) bool { return v1alpha1.WaitsForNode(p.Reason) })
	waiting := len(o.problems) > len(stalled)
	going, stuck := no(v1alpha1.ConditionReconciling, v1alpha1.ReasonSettled, ""), no(v1alpha1.ConditionStalled, v1alpha1.ReasonSettled, "")
	switch {
	case len(stalled) > 0:
		stuck = yes(v1alpha1.ConditionStalled, worst(stalled).Reason, explain(stalled))
	case waiting:
		going = yes(v1alpha1.ConditionReconciling, worst(o.problems).Reason, explain(o.problems))
	case o.counts.Pending > 0:
		going = yes(v1alpha1.ConditionReconciling, v1alpha1.ReasonApplying, tally(o))
	case o.unapplied > 0:
		going = yes(v1alpha1.ConditionReconciling, v1alpha1.ReasonUnknown, tally(o))
	case o.counts.Failed > 0:
		stuck = yes(v1alpha1.ConditionStalled, v1alpha1.ReasonFailed, tally(o))
	}
	all := []metav1.Condition{ready(o, stalled), going, stuck}
	if conflicts := withReason(stalled, v1alpha1.ReasonConflict); len(conflicts) > 0 {
		all = append(all, yes(v1alpha1.ConditionConflict, v1alpha1.ReasonConflict, explain(conflicts)))
	}
	return all
}

func ready(o outcome, stalled []compiler.Problem) metav1.Condition {
	c := o.counts
	switch {
	case len(stalled) > 0:
		return no(v1alpha1.ConditionReady, worst(stalled).Reason, explain(stalled))
	case c.Failed > 0:
		return no(v1alpha1.ConditionReady, v1alpha1.ReasonFailed, tally(o))
	case c.Pending > 0:
		return no(v1alpha1.ConditionReady, v1alpha1.ReasonApplying, tally(o))
	case o.unapplied > 0:
		return no(v1alpha1.ConditionReady, v1alpha1.ReasonUnknown, tally(o))
	case len(o.problems) > 0:
		return no(v1alpha1.ConditionReady, worst(o.problems).Reason, explain(o.problems))
	case c.Skipped > 0:
		return no(v1alpha1.ConditionReady, v1alpha1.ReasonSkipped, tally(o))
	case c.OutOfSync > 0:
		return no(v1alpha1.ConditionReady, v1alpha1.ReasonOutOfSync, tally(o))
	case c.Noop > 0:
		return yes(v1alpha1.ConditionReady, v1alpha1.ReasonNoop, tally(o)) // it was asked to report
	case c.Selected == 0:
		return yes(v1alpha1.ConditionReady, v1alpha1.ReasonNoNodesSelected, "nodeSelector and when select no node")
	}
	return yes(v1alpha1.ConditionReady, v1alpha1.ReasonInSync, tally(o))
}

func yes(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: text.Line(message)}
}

func no(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: text.Line(message)}
}

// tally says in a line how the nodes are, with the worst of them.
func tally(o outcome) string {
	c := o.counts
	parts := []string{fmt.Sprintf("%d of %d nodes in sync", c.InSync, c.Selected)}
	for _, p := range []struct {
		n    int32
		what string
	}{{c.Failed, "failed"}, {c.Skipped, "skipped"}, {c.OutOfSync, "out of sync"}, {c.Noop, "only reported (noop)"}, {c.Pending, "pending"}, {c.Unknown, "unknown"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	line := strings.Join(parts, ", ")
	if len(o.samples) > 0 && o.samples[0].Message != "" {
		line += fmt.Sprintf("; %s: %s", o.samples[0].Node, o.samples[0].Message)
	}
	return line
}

// worst is the problem that gives a condition its reason: a contested claim first, as
// another one's change solves it; what only follows from others last.
func worst(problems []compiler.Problem) compiler.Problem {
	for _, p := range problems {
		if p.Reason == v1alpha1.ReasonConflict {
			return p
		}
	}
	for _, p := range problems {
		if p.Reason != v1alpha1.ReasonDependsOnProblem {
			return p
		}
	}
	return problems[0]
}

func withReason(problems []compiler.Problem, reason string) []compiler.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p compiler.Problem) bool { return p.Reason != reason })
}

// explain says the worst problem, where it is, and how many others there are.
func explain(problems []compiler.Problem) string {
	p := worst(problems)
	rest := slices.DeleteFunc(slices.Clone(problems), func(o compiler.Problem) bool {
		return o.Reason == p.Reason && o.Message == p.Message
	})
	var nodes []string
	for _, o := range problems {
		if o.Reason == p.Reason && o.Message == p.Message && o.Node != "" {
			nodes = append(nodes, o.Node)
		}
	}
	line := p.Message
	switch {
	case len(nodes) == 1 && !strings.Contains(line, nodes[0]):
		line += fmt.Sprintf(" (on node %s)", nodes[0])
	case len(nodes) > 1:
		line += fmt.Sprintf(" (on node %s and %d more)", nodes[0], len(nodes)-1)
	}
	if len(rest) > 0 {
		line += fmt.Sprintf("; and %d more", len(rest))
	}
	return line
}
