package rollout_test

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// A fault is how a manager is wrong on purpose, so that a test can show that the checker notices it. Its functions change what the
// manager knows and what it decides; nil changes nothing.
type fault struct {
	name string

	read    func(*rollout.State)
	wanted  func(*rollout.Wanted)
	aimed   func(before rollout.State, after *rollout.State)
	tracker func(*rollout.Policy)
	node    func(*rollout.Node)
	input   func(*rollout.Input)
	decided func(*rollout.Decision, rollout.Input)

	joinsGetTarget, movesNothing, movesFirst, movesAfterConflict, ignoresConflicts bool
}

// change applies one function of a fault.
func change[T any](f func(*T), value T) T {
	if f != nil {
		f(&value)
	}
	return value
}

func faults() []fault {
	return slices.Concat(faultsOfLimits(), faultsOfProof(), faultsOfMemory(), faultsOfOrder(), faultsOfGoals(), faultsOfWrites())
}

func faultsOfLimits() []fault {
	const unlimited = 1000
	return []fault{
		{name: "moves more nodes than may be in flight", input: func(in *rollout.Input) { in.Policy.MaxInFlight = intstr.FromInt32(unlimited) }},
		{name: "moves more nodes than have proven the target", input: func(in *rollout.Input) { in.Policy.First = intstr.FromInt32(unlimited) }},
		{name: "goes on after too many failures", input: func(in *rollout.Input) { in.Policy.MaxFailed = intstr.FromInt32(unlimited) }},
		{name: "goes on while the policy is paused", input: func(in *rollout.Input) { in.Stopped = false }},
		{
			name: "takes a target for a revision that was completed before",
			input: func(in *rollout.Input) {
				in.State.History = append([]v1alpha1.RolloutRecord{{Revision: in.State.Target, Outcome: v1alpha1.RolloutCompleted}}, in.State.History...)
			},
			decided: func(d *rollout.Decision, _ rollout.Input) {
				d.State.History = slices.DeleteFunc(d.State.History, func(r v1alpha1.RolloutRecord) bool { return r.Started.IsZero() })
			},
		},
	}
}

func faultsOfProof() []fault {
	return []fault{
		{name: "takes a node for proven once it has applied the target", tracker: func(p *rollout.Policy) { p.Soak = 0 }},
		{name: "takes a node for proven after half of the time", tracker: func(p *rollout.Policy) { p.Soak /= 2 }},
		{name: "waits for a node forever", tracker: func(p *rollout.Policy) { p.Timeout = 1000 * time.Hour }},
		{name: "takes a node that tries nothing for proven", node: func(n *rollout.Node) {
			if n.Phase == rollout.Untried {
				n.Phase = rollout.Proven
			}
		}},
		{name: "takes a node that was silent before for failed", node: func(n *rollout.Node) {
			if n.Phase == rollout.Excluded && n.Silent {
				n.Phase, n.Reason = rollout.Failed, v1alpha1.RolloutNodeSilent
			}
		}},
	}
}

func faultsOfMemory() []fault {
	return []fault{
		{name: "forgets failures", decided: func(d *rollout.Decision, _ rollout.Input) { d.State.Failures, d.State.Nodes.Failed = nil, 0 }},
		{name: "forgets failures of nodes that are well again", decided: func(d *rollout.Decision, in rollout.Input) {
			forgive(d, func(node string) bool { return phaseOf(in, node) == rollout.Proven })
		}},
		{name: "forgets failures of nodes that are gone", decided: func(d *rollout.Decision, in rollout.Input) {
			forgive(d, func(node string) bool { return phaseOf(in, node) == "" })
		}},
		{name: "blames a target for failures of the one before", aimed: func(before rollout.State, after *rollout.State) {
			if !before.Started.Equal(after.Started) {
				after.Failures, after.Nodes.Failed = before.Failures, before.Nodes.Failed
			}
		}},
		{name: "forgets nodes that are about to be moved", read: func(s *rollout.State) { s.Admitting = nil }},
		{name: "forgets them when a rollout is halted", decided: func(d *rollout.Decision, _ rollout.Input) { drop(d, d.Halted) }},
		{name: "leaves nodes behind at rest", decided: func(d *rollout.Decision, _ rollout.Input) { drop(d, d.State.Target == "") }},
	}
}

func faultsOfOrder() []fault {
	waiting := func(change func(*rollout.Node)) func(*rollout.Node) {
		return func(n *rollout.Node) {
			if n.Phase == rollout.Waiting {
				change(n)
			}
		}
	}
	return []fault{
		{name: "admits silent nodes", node: waiting(func(n *rollout.Node) { n.Silent = false })},
		{name: "admits disabled nodes", node: waiting(func(n *rollout.Node) { n.Disabled = false })},
		{name: "admits nodes that are not well", node: waiting(func(n *rollout.Node) { n.Failing, n.NotReady = "", false })},
		{name: "moves several nodes of the control plane", node: func(n *rollout.Node) { n.ControlPlane = false }},
	}
}

func faultsOfGoals() []fault {
	return []fault{
		{name: "begins a rollout while people edit", wanted: func(w *rollout.Wanted) { w.Settled = true }},
		{name: "replaces a target that gets on", wanted: func(w *rollout.Wanted) { w.Touches = true }},
		{name: "does not replace a target that is halted", wanted: func(w *rollout.Wanted) {
			w.Touches, w.Policy.MaxFailed = false, intstr.FromString("100%")
		}},
		{name: "completes a rollout while nodes are in flight", decided: func(d *rollout.Decision, in rollout.Input) {
			complete(d, d.State.Target != "" && d.State.Nodes.Proven > 0, in)
		}},
		{name: "completes a rollout that no node has proven", decided: func(d *rollout.Decision, in rollout.Input) { complete(d, d.Unproven, in) }},
	}
}

func faultsOfWrites() []fault {
	return []fault{
		{name: "gives the target to nodes that join", joinsGetTarget: true},
		{name: "never moves the nodes that it admits", movesNothing: true},
		{name: "moves nodes before it has written the status", movesFirst: true},
		{name: "moves nodes although it could not write the status", movesAfterConflict: true},
		{name: "overwrites the status of another manager", ignoresConflicts: true},
	}
}

func phaseOf(in rollout.Input, node string) rollout.Phase {
	for _, n := range in.Nodes {
		if n.Name == node {
			return n.Phase
		}
	}
	return ""
}

func forgive(d *rollout.Decision, pardons func(node string) bool) {
	for _, f := range slices.Clone(d.State.Failures) {
		if d.State.Target != "" && pardons(f.Node) {
			d.State = d.State.Retry(f.Node)
		}
	}
}

func drop(d *rollout.Decision, now bool) {
	if now {
		d.State.Admitting, d.Admit = nil, nil
	}
}

// complete completes the rollout of a target, as a decision about no node does.
func complete(d *rollout.Decision, now bool, in rollout.Input) {
	if !now || d.Completed {
		return
	}
	s := d.State
	s.Admitting, s.Failures, s.Nodes = nil, nil, v1alpha1.RolloutNodes{}
	done := rollout.Next(rollout.Input{Policy: in.Policy, State: s, Now: in.Now})
	done.State.Nodes, done.State.Failures = d.State.Nodes, d.State.Failures
	*d = done
}
