package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Policy is the state of a RolloutPolicy.
type Policy struct {
	Name   string `json:"name"`
	Paused bool   `json:"paused,omitempty"`
	// Pinned is the revision to which the policy is pinned; "" if it gets the newest.
	Pinned string `json:"pinned,omitempty"`
	// Ready, Stalled, Reason and Message are those of its conditions.
	Ready   bool   `json:"ready"`
	Stalled bool   `json:"stalled"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// WaitsFor is what the rollout waits for besides its nodes, such as other policies; "" for nothing.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Observed reports whether the manager has seen the present spec.
	Observed bool                         `json:"observed"`
	Status   v1alpha1.RolloutPolicyStatus `json:"status"`
}

// PolicyOf returns the state of a policy. all are the policies of the cluster.
func PolicyOf(p v1alpha1.RolloutPolicy, all []v1alpha1.RolloutPolicy) Policy {
	is := Policy{
		Name: p.Name, Paused: p.Spec.Paused, Pinned: p.Spec.Revision, Status: p.Status, Observed: p.Status.ObservedGeneration == p.Generation,
		Ready:   meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady),
		Stalled: meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled),
	}
	if ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		is.Reason, is.Message = ready.Reason, ready.Message
	}
	is.WaitsFor = waitsFor(p, is, all)
	return is
}

// PoliciesOf returns the states of policies.
func PoliciesOf(all []v1alpha1.RolloutPolicy) []Policy {
	states := make([]Policy, len(all))
	for i, p := range all {
		states[i] = PolicyOf(p, all)
	}
	return states
}

// Unsettled returns the states of the policies whose rollouts are in progress, halted, paused or wait.
func Unsettled(all []v1alpha1.RolloutPolicy) []Policy {
	return slices.DeleteFunc(PoliciesOf(all), func(p Policy) bool { return !p.Active() })
}

// Newest is the revision that the nodes of the policy get sooner or later; "" if none is known.
func (p Policy) Newest() string { return cmp.Or(p.Status.Pending, p.Goal()) }

// Goal is the revision that the policy gives to its nodes: the target or, at rest, the stable one.
func (p Policy) Goal() string { return cmp.Or(p.Status.Target, p.Status.Stable) }

// Active reports whether a rollout is in progress, halted, paused or waits, or would if the policy were not pinned.
func (p Policy) Active() bool {
	return !p.Ready || p.Paused || p.Pinned != "" || p.Status.Target+p.Status.Pending != ""
}

// InFlight is the number of nodes that have neither proven the target nor failed.
func (p Policy) InFlight() int32 {
	return max(0, p.Status.Nodes.Admitted-p.Status.Nodes.Proven-p.Status.Nodes.Failed)
}

// Progress is "0123456789 proven on 2 of 5 affected nodes, 1 in flight, 1 failed"; "" at rest.
func (p Policy) Progress() string {
	if p.Status.Target == "" {
		return ""
	}
	n := p.Status.Nodes
	parts := []string{fmt.Sprintf("%s proven on %d of %s", v1alpha1.ShortRevision(p.Status.Target), n.Proven, text.Count(int(n.Affected), "affected node"))}
	for _, c := range []struct {
		n    int32
		what string
	}{{p.InFlight(), "in flight"}, {n.Failed, "failed"}, {n.Excluded, "excluded"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Line says in a line where the rollout is: with the message of the manager, which has the progress, or without one with the progress.
func (p Policy) Line() string {
	if p.Message == "" {
		return cmp.Or(p.Progress(), p.Reason)
	}
	return p.Reason + ": " + p.Message
}

// Why is why nodes of the policy do not have the newest revision yet.
func (p Policy) Why() string {
	switch {
	case p.Paused:
		return p.Name + " is paused"
	case p.Pinned != "":
		return p.Name + " is pinned to " + v1alpha1.ShortRevision(p.Pinned)
	case p.WaitsFor != "":
		return p.Name + " waits for " + p.WaitsFor
	case p.Message != "":
		return p.Name + ": " + p.Message
	}
	return p.Name + " rolls out " + v1alpha1.ShortRevision(p.Newest())
}

// waitsFor returns what a policy waits for according to its reason.
func waitsFor(p v1alpha1.RolloutPolicy, is Policy, all []v1alpha1.RolloutPolicy) string {
	switch {
	case is.Reason == v1alpha1.ReasonWaitingForPolicy:
		return text.List(setOf(all).YetToComplete(p.Name, is.Newest()))
	case is.Reason == v1alpha1.ReasonWaitingForGate:
		return "the condition " + text.List(unset(p))
	case is.Reason == v1alpha1.ReasonWaitingForWindow && p.Spec.Window != nil: // the manager may not have seen that it is gone
		return "its window " + policies.DescribeWindow(*p.Spec.Window)
	}
	return ""
}

// unset returns the gates that are absent or Unknown.
func unset(p v1alpha1.RolloutPolicy) (gates []string) {
	for _, gate := range p.Spec.Gates {
		if c := meta.FindStatusCondition(p.Status.Conditions, gate); c == nil || c.Status == metav1.ConditionUnknown {
			gates = append(gates, gate)
		}
	}
	return gates
}
