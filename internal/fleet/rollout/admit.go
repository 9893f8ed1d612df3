package rollout

import (
	"math"
	"slices"
)

// room returns how many further nodes may get the goal.
func (r *roster) room() int {
	return max(0, min(r.maxAdmitted()-r.admitted(), r.Policy.MaxInFlightOf(r.affected)-r.count[inFlight]))
}

// maxAdmitted returns how many nodes may be admitted. A revision that the policy has completed before is proven.
func (r *roster) maxAdmitted() int {
	if r.State.Completed(r.State.Goal()) {
		return math.MaxInt
	}
	return r.Policy.MaxAdmittedOf(r.affected, r.count[proven], r.failedNodes())
}

// admit returns the nodes that get the goal now.
func (r *roster) admit(candidates []Node) []string {
	free := maxAdmitting - len(r.State.Admitting)
	names, controlPlane := r.next(candidates, min(free, r.room()))
	return append(names, r.followers(candidates, free-len(names), controlPlane)...)
}

// next returns up to limit candidates, in the order of their turn, and whether a node of the control plane is busy then.
func (r *roster) next(candidates []Node, limit int) (names []string, controlPlane bool) {
	controlPlane = r.ControlPlaneBusy || r.controlPlaneBusy()
	for _, n := range r.inOrder(candidates) {
		if len(names) == limit {
			break
		}
		if n.ControlPlane && controlPlane {
			continue
		}
		controlPlane = controlPlane || n.ControlPlane
		names = append(names, n.Name)
	}
	return names, controlPlane
}

// ControlPlaneBusy reports whether a node of the control plane is in flight, or failed and is not well yet, so that no other one may be admitted,
// whatever its policy.
func ControlPlaneBusy(in Input) bool {
	has := slices.ContainsFunc(in.Nodes, func(n Node) bool { return n.ControlPlane })
	return has && newRoster(in).controlPlaneBusy()
}

// controlPlaneBusy reports whether a node of the control plane is in flight, or failed and is not well yet: etcd would lose its quorum with
// the next one.
func (r *roster) controlPlaneBusy() bool {
	for i, n := range r.Nodes {
		if n.ControlPlane && (r.roles[i] == inFlight || r.admitting(n.Name) || r.roles[i] == failed && n.AtGoal && n.Phase != Proven) {
			return true
		}
	}
	return false
}

// followers returns up to limit nodes that cannot show whether the goal works, and get it whatever is in flight: they apply it when they
// can, and it may be what brings them back. Those of the control plane follow one at a time.
func (r *roster) followers(candidates []Node, limit int, controlPlane bool) (names []string) {
	for _, n := range r.with(unheard) {
		if len(names) == limit {
			break
		}
		if !r.follows(n, candidates) || n.ControlPlane && controlPlane {
			continue
		}
		controlPlane = controlPlane || n.ControlPlane
		names = append(names, n.Name)
	}
	return names
}

// follows reports whether a node gets the goal that nobody hears. At rest, each does. During a rollout, only a node with an abandoned target does,
// which would break it again as soon as it is repaired: if the goal was completed before, as after a revert, or if no other node can try it.
func (r *roster) follows(n Node, candidates []Node) bool {
	switch {
	case r.admitting(n.Name):
		return false
	case !r.rollingOut():
		return true
	}
	nobody := len(candidates) == 0 && !r.tried()
	return n.Abandoned && (nobody || r.State.Completed(r.State.Goal()))
}
