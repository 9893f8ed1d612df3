package rollout

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Input is all that a decision depends on.
type Input struct {
	Policy  Policy
	State   State
	Nodes   []Node // all nodes of the policy, in any order
	Stopped bool   // no further node is admitted: the policy is paused, or its window is closed, for example
	Unknown bool   // it is not known which nodes the policy has: it is invalid, or shares nodes with others
	// ControlPlaneBusy says that a node of the control plane is in flight, or has failed and is still unwell, in another policy.
	ControlPlaneBusy bool
	Now              time.Time
}

// A Decision is what is to be done.
type Decision struct {
	// State is to be written before any node is moved.
	State State
	// Admit are the nodes that get the goal once State is written, sorted: all of State.Admitting, also those of an earlier decision. If there are
	// any, State is written even if it is what was read: the write fails if another manager has decided otherwise.
	Admit []string
	// Halted says that too many nodes failed, or that all that could try the target did.
	Halted bool
	// Completed says that this decision has ended the rollout. Nodes that could not take part follow, beginning with the next decision.
	Completed bool
	// Unproven says that every node that could try the target has it, and none has proven it.
	Unproven bool
	// Elsewhere is how many nodes could get the stable revision at rest, and do not have it yet.
	Elsewhere int
	// Samples are at most 10 nodes that the rollout waits for: failed ones first, then applying, soaking and excluded ones.
	Samples []v1alpha1.RolloutSample
	// Wake is when the decision changes though nothing happens, 0 for never.
	Wake time.Duration
}

// Next decides which nodes get the goal now, and whether the rollout has ended.
//
// Of the nodes for which the goal makes a difference, those that have it, or are about to, are admitted: in flight, proven or failed. Nodes are
// only admitted while
//
//   - admitted <= max(first + failed, 4 * proven), unless the policy has completed the goal before,
//   - in flight <= maxInFlight,
//   - failed <= maxFailed; otherwise the rollout is halted,
//   - and at most one node of the control plane is in flight, or has failed and is still unwell.
//
// Nodes that are silent, disabled or leaving are left out, as are those that are not well, unless nothing else can try the target. A node with an
// abandoned target gets the next one although it is not well, and may get it although it is silent: see follows.
//
// A rollout is completed once nothing is in flight, no node is left that could get the target, and a node has proven it, or none has been
// affected since it began: nodes that the policy has lost prove nothing. If all that could try it failed, it is halted, too. If nodes are affected and none has proven the target, because all are silent, disabled or in noop, the rollout is Unproven:
// the target stays, since nothing shows that nodes that join, and policies that wait for this one, should have it. The
// rollout goes on when a node can try it. Any other revision replaces it at once, and then its record says Unproven.
//
// At rest, nodes that are elsewhere follow: those that could not take part in the rollout, and those that other policies had.
func Next(in Input) Decision {
	r := newRoster(in)
	if r.rollingOut() {
		r.recordFailures()
	}
	r.State.Admitting = slices.DeleteFunc(r.State.Admitting, func(node string) bool { return !r.awaited(node) })
	candidates := r.candidates()
	d := Decision{Halted: r.halted()}
	if !d.Halted && !in.Stopped {
		r.take(r.admit(candidates))
	}
	d.State = r.after()
	d.Admit = slices.Clone(d.State.Admitting)
	if ended := !d.Halted && len(candidates) == 0 && r.quiet(); ended {
		d.Completed = r.conclusive()
		d.Halted = !d.Completed && r.failedNodes() > 0
		d.Unproven = !d.Completed && !d.Halted
	}
	d.Elsewhere, d.Samples, d.Wake = r.elsewhere(), r.samples(), r.wake()
	if d.Completed {
		d.State = d.State.complete(in.Now)
	}
	return d
}

// quiet reports whether a rollout has nothing to wait for, unless nodes are left that could get the target.
func (r *roster) quiet() bool {
	return r.rollingOut() && r.count[inFlight] == 0 && len(r.State.Admitting) == 0
}

// conclusive reports whether the nodes that have the target show that it works.
func (r *roster) conclusive() bool {
	return r.count[proven] > 0 || r.affected == 0 && r.failedNodes() == 0 && !r.Unknown && !r.lost()
}

// lost reports whether the rollout affected nodes of which the policy has none any more, before one had proven the target.
func (r *roster) lost() bool {
	return r.rollingOut() && r.affected == 0 && r.State.Nodes.Affected > 0 && r.State.Nodes.Proven == 0
}

// elsewhere returns how many nodes could get the stable revision at rest.
func (r *roster) elsewhere() (n int) {
	for i, is := range r.roles {
		if !r.rollingOut() && !r.Nodes[i].AtGoal && (is == candidate || is == impaired || is == inFlight) {
			n++
		}
	}
	return n
}

// take adds nodes to those that get the goal.
func (r *roster) take(admit []string) {
	r.State.Admitting = slices.Sorted(slices.Values(append(r.State.Admitting, admit...)))
	for _, name := range admit {
		i, _ := r.find(name)
		if r.roles[i] == unheard { // a follower, which counts once it is heard
			continue
		}
		r.count[r.roles[i]]--
		r.roles[i] = inFlight
		r.count[inFlight]++
	}
}

// after returns the state with the numbers of nodes. At rest, these are those of the last rollout.
func (r *roster) after() State {
	s := r.State
	s.Nodes.Total = number(len(r.Nodes))
	if r.rollingOut() {
		if !r.lost() {
			s.Nodes.Affected = number(r.affected)
		}
		s.Nodes.Admitted, s.Nodes.Proven = number(r.admitted()), number(r.count[proven])
		s.Nodes.Excluded = number(r.count[unheard] + r.count[untried] + r.count[impaired])
	}
	return s
}

// wake returns when the phase of a node that counts changes by itself.
func (r *roster) wake() (wake time.Duration) {
	for i, n := range r.Nodes {
		if r.roles[i] == uncounted {
			continue
		}
		wake = earliest(wake, n.Changes)
		if !r.rollingOut() && r.roles[i] == inFlight && n.AtGoal {
			wake = earliest(wake, r.recent(n))
		}
	}
	return wake
}

func number(n int) int32 { return int32(n) } //nolint:gosec // of nodes

// complete returns the state after the target was completed. The history then has the revision that was stable before, too, so that nodes can
// go back: the first one of a policy was not rolled out.
func (s State) complete(now time.Time) State {
	target, former, began := s.Target, s.Stable, metav1.NewTime(s.Started)
	s = s.end(v1alpha1.RolloutCompleted, now)
	s.Stable = target
	if !s.Completed(former) {
		record := v1alpha1.RolloutRecord{Revision: former, Outcome: v1alpha1.RolloutCompleted, Started: began, Ended: began}
		s.History = limited(slices.Insert(s.History, 1, record))
	}
	return s
}
