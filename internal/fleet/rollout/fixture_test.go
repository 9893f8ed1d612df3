package rollout_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// noon is when everything happens that needs a time.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// policy returns limits in numbers of nodes.
func policy(first, maxInFlight, maxFailed int32) rollout.Policy {
	return rollout.Policy{
		First: intstr.FromInt32(first), MaxInFlight: intstr.FromInt32(maxInFlight), MaxFailed: intstr.FromInt32(maxFailed),
		Soak: 2 * time.Minute, Timeout: 10 * time.Minute,
	}
}

// rollingOut is the state of a policy that rolls out the revision new.
func rollingOut(admitting ...string) rollout.State {
	return rollout.State{Stable: "old", Target: "new", Started: noon, Admitting: admitting}
}

// failedOn is that state after a node has failed.
func failedOn(node string, admitting ...string) rollout.State {
	s := rollingOut(admitting...)
	s.Failures, s.Nodes.Failed = []v1alpha1.RolloutFailure{{Node: node}}, 1
	return s
}

// endedBefore is that state if the revision has been rolled out before.
func endedBefore(outcome v1alpha1.RolloutOutcome) rollout.State {
	s := rollingOut()
	s.History = []v1alpha1.RolloutRecord{{Revision: "new", Outcome: outcome}}
	return s
}

type option func(*rollout.Node)

// node returns a node for which the goal makes a difference. It does not have it yet, and is well.
func node(name string, options ...option) rollout.Node {
	n := rollout.Node{Observation: rollout.Observation{Name: name, Affected: true, Digest: "old"}, Phase: rollout.Waiting}
	for _, o := range options {
		o(&n)
	}
	return n
}

// nodes returns n nodes with numbered names.
func nodes(prefix string, n int, options ...option) (all []rollout.Node) {
	for i := range n {
		all = append(all, node(fmt.Sprintf("%s%02d", prefix, i), options...))
	}
	return all
}

func join(lists ...[]rollout.Node) (all []rollout.Node) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// is gives a node the goal.
func is(phase rollout.Phase) option {
	return func(n *rollout.Node) { n.AtGoal, n.Phase = true, phase }
}

func unaffected(n *rollout.Node)   { n.Affected = false }
func abandoned(n *rollout.Node)    { n.Abandoned = true }
func silent(n *rollout.Node)       { n.Silent = true }
func disabled(n *rollout.Node)     { n.Disabled = true }
func joining(n *rollout.Node)      { n.Digest = "" }
func leaving(n *rollout.Node)      { n.Leaving = true }
func notReady(n *rollout.Node)     { n.NotReady = true }
func failing(n *rollout.Node)      { n.Failing = "File/a: no space" }
func controlPlane(n *rollout.Node) { n.ControlPlane = true }

// fails has a node fail with the goal.
func fails(n *rollout.Node) {
	is(rollout.Failed)(n)
	n.Reason, n.Message = "Failed", "File/a: no space"
}

func group(name string) option { return func(n *rollout.Node) { n.Group = name } }
func zone(name string) option  { return func(n *rollout.Node) { n.Zone = name } }

// came has a node come to the goal at a time.
func came(since time.Time) option { return func(n *rollout.Node) { n.Since = since } }
