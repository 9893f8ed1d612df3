// Package conditions derives the status of a resource, and the events that a change of status
// causes, from the state of the resource on its nodes.
package conditions

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Outcome is everything that determines the status of a resource.
type Outcome struct {
	Generation int64
	nodestatus.Summary
	Problems []compiler.Problem
	// Selector describes which nodes the resource selects, as people write it.
	Selector string
	// ActingNode is the node that acts for a resource of a Remote type, "" for none.
	ActingNode string
	// Drift is what its nodes recorded, nil for none.
	Drift *v1alpha1.ResourceDrift
	// Contest is one with another program on its nodes, nil for none.
	Contest *drift.Contest
	// Deselected explains which nodes that the resource no longer selects have yet to clean up, "" for none.
	Deselected string
	// Rollout is the rollout that some of the pending nodes wait for; nil for none.
	Rollout *Rollout
	// Cleanup explains which nodes a deletion waits for, "" while the resource is not being
	// deleted.
	Cleanup string
}

// A Rollout is why a resource has yet to reach some nodes.
type Rollout struct {
	Policy  string
	Nodes   int    // that wait
	Reason  string // of the policy's condition Ready
	Message string
	Stalled bool // the policy is, so that a person has to act
}

// Status returns the status of a resource. Conditions that stay as they were before keep their
// LastTransitionTime.
func Status(o Outcome, before v1alpha1.ResourceStatus, now metav1.Time) v1alpha1.ResourceStatus {
	s := v1alpha1.ResourceStatus{
		ObservedGeneration: o.Generation,
		AppliedGeneration:  before.AppliedGeneration,
		ActingNode:         o.ActingNode,
		Nodes:              &o.Counts,
		Samples:            o.Samples,
		Drift:              o.Drift,
		Conditions:         conditions(o),
	}
	if o.Counts.Pending+o.Unapplied == 0 && len(o.Problems) == 0 && o.Cleanup == "" {
		s.AppliedGeneration = o.Generation
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		c.ObservedGeneration, c.LastTransitionTime = o.Generation, now
		for _, b := range before.Conditions {
			if b.Type == c.Type && b.Status == c.Status {
				c.LastTransitionTime = b.LastTransitionTime
			}
		}
	}
	return s
}

// conditions returns Ready, Reconciling, Stalled, Conflict and Contended, in this order. A resource is never
// both Stalled and Reconciling, so that kstatus can tell failure from progress. A resource that
// failed on a node is retried there and still Stalled once nothing else is in progress, because
// what did not help once seldom helps the next time.
func conditions(o Outcome) []metav1.Condition {
	reconciling, stalled := condition(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonSettled, ""), condition(v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
	if o.Cleanup != "" {
		return []metav1.Condition{
			condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCleaningUp, o.Cleanup),
			condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonCleaningUp, o.Cleanup),
			stalled,
		}
	}
	blocking := slices.DeleteFunc(slices.Clone(o.Problems), func(p compiler.Problem) bool { return v1alpha1.WaitsForNode(p.Reason) })
	switch {
	case len(blocking) > 0:
		stalled = condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, worst(blocking).Reason, explain(blocking))
	case len(o.Problems) > 0:
		reconciling = condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, worst(o.Problems).Reason, explain(o.Problems))
	case o.Counts.Pending > 0:
		o.setPending(&reconciling, &stalled)
	case o.Unapplied > 0:
		reconciling = condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonUnknown, tally(o))
	case o.Deselected != "":
		reconciling = condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonCleaningUp, o.Deselected)
	case o.Counts.Failed > 0:
		stalled = condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonFailed, tally(o))
	}
	all := []metav1.Condition{ready(o, blocking), reconciling, stalled}
	if conflicts := withReason(blocking, v1alpha1.ReasonConflict); len(conflicts) > 0 {
		all = append(all, condition(v1alpha1.ConditionConflict, metav1.ConditionTrue, v1alpha1.ReasonConflict, explain(conflicts)))
	}
	if o.Contest != nil {
		all = append(all, condition(v1alpha1.ConditionContended, metav1.ConditionTrue, v1alpha1.ReasonRepeatedDrift, contention(*o.Contest)))
	}
	return all
}

// contention is "changed again and again by /usr/bin/puppet (puppet.service) on node web-1 and 2 more".
func contention(c drift.Contest) string {
	line := fmt.Sprintf("changed again and again by %s on node %s", (*host.Author)(c.By).Program(), c.Node)
	if c.Nodes > 1 {
		line += fmt.Sprintf(" and %d more", c.Nodes-1)
	}
	return line + "; corrections are made less and less often"
}

// describe is "214 of 5000 nodes in sync, 4786 pending; policy default: ...".
func (r *Rollout) describe(o Outcome) string {
	o.Samples = nil // the message of the policy says more
	return fmt.Sprintf("%s; %s for RolloutPolicy %s: %s", tally(o), text.Count(r.Nodes, "node")+text.Plural(r.Nodes, " waits", " wait"), r.Policy, r.Message)
}

// setPending sets Reconciling while nodes are pending, or Stalled if a person has to act before they get on.
func (o Outcome) setPending(reconciling, stalled *metav1.Condition) {
	switch {
	case o.Rollout == nil:
		*reconciling = condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonApplying, tally(o))
	case o.Rollout.Stalled:
		*stalled = condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, o.Rollout.Reason, o.Rollout.describe(o))
	default:
		*reconciling = condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, o.Rollout.Reason, o.Rollout.describe(o))
	}
}

// problem is how a rollout explains that a resource is not ready. r may be nil.
func (r *Rollout) problem(o Outcome) compiler.Problem {
	if r == nil {
		return compiler.Problem{}
	}
	return compiler.Problem{Reason: r.Reason, Message: r.describe(o)}
}

func ready(o Outcome, blocking []compiler.Problem) metav1.Condition {
	c, unheard := o.Counts, o.Counts.Unknown+o.Counts.Disabled == o.Counts.Selected
	for _, obstacle := range []struct {
		exists   bool
		reason   string
		problems []compiler.Problem // which explain it; nil if the counts do
	}{
		{len(blocking) > 0, "", blocking},
		{o.Rollout != nil, "", []compiler.Problem{o.Rollout.problem(o)}},
		{c.Failed > 0, v1alpha1.ReasonFailed, nil},
		{c.Pending > 0, v1alpha1.ReasonApplying, nil},
		{o.Unapplied > 0, v1alpha1.ReasonUnknown, nil},
		{len(o.Problems) > 0, "", o.Problems},
		{o.Deselected != "", "", []compiler.Problem{{Reason: v1alpha1.ReasonCleaningUp, Message: o.Deselected}}},
		{c.Skipped > 0, v1alpha1.ReasonSkipped, nil},
		{o.Other() > 0, v1alpha1.ReasonOutOfSync, nil},
		{c.Unknown > 0 && unheard, v1alpha1.ReasonUnknown, nil},
		{c.Disabled > 0 && unheard, v1alpha1.ReasonDisabled, nil},
	} {
		switch {
		case !obstacle.exists:
		case obstacle.problems != nil:
			return condition(v1alpha1.ConditionReady, metav1.ConditionFalse, worst(obstacle.problems).Reason, explain(obstacle.problems))
		default:
			return condition(v1alpha1.ConditionReady, metav1.ConditionFalse, obstacle.reason, tally(o))
		}
	}
	switch {
	case c.Noop > 0: // the author asked for a report only
		return condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNoop, tally(o))
	case c.Selected == 0:
		return condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNoNodesSelected, "no node matches "+o.Selector)
	}
	return condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonInSync, tally(o))
}

// Summaries returns the values of Summarize.
func Summaries() []string {
	return []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, "NotReady"}
}

// Summarize describes a status in one word, as kstatus does.
func Summarize(s v1alpha1.ResourceStatus) string {
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionReady} {
		if meta.IsStatusConditionTrue(s.Conditions, kind) {
			return kind
		}
	}
	return "NotReady"
}

// Selector describes which nodes a resource selects.
func Selector(t *v1alpha1.Targeting) string {
	selector := "{}"
	if t.NodeSelector != nil && len(t.NodeSelector.MatchLabels)+len(t.NodeSelector.MatchExpressions) > 0 {
		selector = metav1.FormatLabelSelector(t.NodeSelector)
	}
	if t.When != "" {
		return fmt.Sprintf("nodeSelector %s and when %q", selector, text.Clip(text.FirstLine(t.When), maxWhen))
	}
	return "nodeSelector " + selector
}

// maxWhen bounds the part of an expression that a message contains, in bytes.
const maxWhen = 256

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: text.Line(message)}
}

// tally counts the nodes by state, and adds the most urgent sample.
func tally(o Outcome) string {
	c := o.Counts
	parts := []string{fmt.Sprintf("%d of %d nodes in sync", c.InSync, c.Selected)}
	for _, p := range []struct {
		n    int32
		what string
	}{{c.Failed, "failed"}, {c.Skipped, "skipped"}, {o.Other(), "out of sync"}, {c.Noop, "only reported (noop)"}, {c.Pending, "pending"}, {c.Disabled, "disabled"}, {c.Unknown, "unknown"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	line := strings.Join(parts, ", ")
	if len(o.Samples) > 0 && o.Samples[0].Message != "" {
		line += fmt.Sprintf("; %s: %s", o.Samples[0].Node, o.Samples[0].Message)
	}
	return line
}

// worst returns the problem that gives a condition its reason: a conflict first, because
// another resource's change resolves it, and problems that follow from others last.
func worst(problems []compiler.Problem) compiler.Problem {
	return slices.MinFunc(problems, func(a, b compiler.Problem) int { return rank(a.Reason) - rank(b.Reason) })
}

func rank(reason string) int {
	switch reason {
	case v1alpha1.ReasonConflict:
		return 0
	case v1alpha1.ReasonDependsOnProblem:
		return 2
	}
	return 1
}

func withReason(problems []compiler.Problem, reason string) []compiler.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p compiler.Problem) bool { return p.Reason != reason })
}

// explain describes the worst problem and its nodes, and counts the others.
func explain(problems []compiler.Problem) string {
	p := worst(problems)
	var nodes []string
	others := 0
	for _, o := range problems {
		switch {
		case o.Reason != p.Reason || o.Message != p.Message:
			others++
		case o.Node != "":
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
	if others > 0 {
		line += fmt.Sprintf("; and %d more", others)
	}
	return line
}
