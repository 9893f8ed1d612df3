package rollout

import (
	"cmp"
	"slices"
	"time"
)

// A role is how a node counts in a rollout.
type role int

const (
	uncounted role = iota // the goal makes no difference to it
	candidate             // could get the goal
	impaired              // could get it, and is not well
	unheard               // does not have it, and could not show whether it works
	untried               // has it, and cannot show whether it works
	inFlight              // has it, or is about to, and it is open whether it works
	proven                // has proven it
	failed                // has failed with it
)

// A roster has the nodes of a policy by how they count.
type roster struct {
	Input           // with Nodes sorted by name
	roles    []role // of Nodes
	count    [failed + 1]int
	affected int
	failures map[string]bool // names in State.Failures
}

func newRoster(in Input) *roster {
	in.State = in.State.clone()
	in.Nodes = slices.SortedFunc(slices.Values(in.Nodes), func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	r := &roster{Input: in, roles: make([]role, len(in.Nodes)), failures: make(map[string]bool, len(in.State.Failures))}
	for _, f := range in.State.Failures {
		r.failures[f.Node] = true
	}
	for i, n := range r.Nodes {
		r.roles[i] = r.role(n)
		r.count[r.roles[i]]++
		if r.concerns(n) {
			r.affected++
		}
	}
	return r
}

func (r *roster) rollingOut() bool { return r.State.Target != "" }

// role returns how a node counts. A node that has failed does not count in another way, even if it is well again.
func (r *roster) role(n Node) role {
	switch {
	case r.rollingOut() && r.failures[n.Name]:
		return failed
	case !r.concerns(n):
		return uncounted
	case !n.AtGoal:
		return r.roleElsewhere(n)
	}
	return roleAtGoal(n)
}

func (r *roster) concerns(n Node) bool { return n.Affected || r.returned(n) }

// returned reports whether a node has come back to the spec that the stable revision gives it: since the rollout began, or at rest a short time
// ago. It is not Affected any more, but has yet to show that it is well. Where it is unknown when it came back, it was now.
func (r *roster) returned(n Node) bool {
	open := n.Phase == Applying || n.Phase == Soaking
	switch {
	case !n.AtGoal || n.Joined:
		return false
	case n.Since.IsZero():
		return open && n.Revision != ""
	case r.rollingOut():
		return !n.Since.Before(r.State.Started)
	}
	return open && r.recent(n) > 0
}

// recent returns for how long a node that came back at rest may be in flight: nothing records there that it failed.
func (r *roster) recent(n Node) time.Duration {
	return n.Since.Add(r.Policy.Timeout + r.Policy.Soak).Sub(r.Now)
}

func (r *roster) roleElsewhere(n Node) role {
	follows := n.unheard() && (n.Abandoned || !r.rollingOut())
	switch {
	case n.Phase == Failed: // the goal was refused
		return failed
	case r.admitting(n.Name) && !follows && n.Digest != "":
		return inFlight
	case n.unheard():
		return unheard
	case n.impaired() && !n.Abandoned:
		return impaired
	}
	return candidate
}

// admitting reports whether a node gets the goal already.
func (r *roster) admitting(node string) bool {
	_, found := slices.BinarySearch(r.State.Admitting, node)
	return found
}

func roleAtGoal(n Node) role {
	switch n.Phase {
	case Proven:
		return proven
	case Failed:
		return failed
	case Untried, Excluded:
		return untried
	case Waiting, Applying, Soaking:
	}
	return inFlight
}

// awaited reports whether a node in Admitting has yet to be seen at the goal. It is not if it has left the policy, needs the goal no more, was
// replaced by another one of its name, which has just joined, or has failed because the API server refuses the goal.
func (r *roster) awaited(node string) bool {
	i, exists := r.find(node)
	refused := r.rollingOut() && r.failures[node]
	return exists && !refused && r.Nodes[i].Affected && !r.Nodes[i].AtGoal && r.Nodes[i].Digest != ""
}

func (r *roster) find(node string) (i int, exists bool) {
	return slices.BinarySearchFunc(r.Nodes, node, func(n Node, name string) int { return cmp.Compare(n.Name, name) })
}

// candidates returns the nodes that could get the goal now. Those that are not well are tried only if no other node is left, and none has proven
// the target or is about to: it may be what makes them well. At rest they follow.
func (r *roster) candidates() []Node {
	nodes := r.with(candidate)
	if r.rollingOut() && (len(nodes) > 0 || r.tried()) {
		return nodes
	}
	return append(nodes, r.with(impaired)...)
}

// tried reports whether a node has proven the goal, or is about to.
func (r *roster) tried() bool { return r.count[proven] > 0 || r.count[inFlight] > 0 }

// with returns the nodes with a role, sorted by name.
func (r *roster) with(is role) (nodes []Node) {
	for i, n := range r.Nodes {
		if r.roles[i] == is {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
