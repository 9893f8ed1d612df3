package controllers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/contents"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

// A rolloutPlanner plans what policies do next. It remembers since when nodes are well, and when people edited resources.
type rolloutPlanner struct {
	heartbeats    *heartbeat.Monitor
	leaseDuration time.Duration
	refusals      limits.Refusals
	leastSoak     time.Duration

	trackers map[string]*rollout.Tracker // by policy
	edits    rolloutDelay
}

// A policyPlan is what a policy does next: the status that is to be written.
type policyPlan struct {
	policy  *v1alpha1.RolloutPolicy // with the newest known status
	status  v1alpha1.RolloutPolicyStatus
	halted  bool
	unused  bool     // its last window passed although a change waited
	retried []string // nodes whose failure is forgotten
	wake    time.Duration
	age     time.Duration // of the rollout in progress
}

// plan plans for each policy, in the same order. It writes nothing.
func (p *rolloutPlanner) plan(sc *scope, specs map[string]spec, compiled *compilation, held map[string]*v1alpha1.Held, now time.Time) []policyPlan {
	p.edits.observe(compiled.newest.Name, now)
	members := membersOf(sc, compiled)
	trackers := make(map[string]*rollout.Tracker, len(sc.policies))
	situations := make([]situation, len(sc.policies))
	for i, policy := range sc.policies {
		trackers[policy.Name] = cmp.Or(p.trackers[policy.Name], &rollout.Tracker{})
		s := policyScope{
			scope: sc, compiled: compiled, specs: specs, policy: policy, limits: rollout.PolicyOf(policy.Spec),
			members: members[policy.Name], tracker: trackers[policy.Name], held: held, now: now,
		}
		s.limits.Soak = max(s.limits.Soak, p.leastSoak)
		situations[i] = s.situation(p)
	}
	p.trackers = trackers
	return decideAll(situations)
}

// decideAll decides for one policy after the other, so that they have at most one node of the control plane in flight together.
func decideAll(all []situation) []policyPlan {
	busy := make([]bool, len(all)) // policies with such a node
	for i, s := range all {
		busy[i] = rollout.ControlPlaneBusy(s.input)
	}
	plans := make([]policyPlan, len(all))
	for i, s := range all {
		s.input.ControlPlaneBusy = slices.Contains(busy[:i], true) || slices.Contains(busy[i+1:], true)
		decided := rollout.Next(s.input)
		busy[i] = busy[i] || slices.ContainsFunc(decided.Admit, func(node string) bool { return isControlPlane(s.nodes[node]) })
		plans[i] = s.plan(decided)
	}
	return plans
}

// members are the nodes of a policy, and those that it would have if no other policy selected them, too.
type members struct {
	nodes        []string // sorted
	conflicts    []string // sorted
	conflictWith []string
}

// membersOf returns the members of each policy.
func membersOf(sc *scope, compiled *compilation) map[string]members {
	all := map[string]members{}
	for _, name := range slices.Sorted(maps.Keys(compiled.Nodes)) {
		is := sc.selections[name]
		if is.Policy != "" {
			m := all[is.Policy]
			m.nodes = append(m.nodes, name)
			all[is.Policy] = m
		}
		for _, one := range is.Conflict {
			m := all[one]
			m.conflicts = append(m.conflicts, name)
			for _, other := range is.Conflict {
				if other != one && !slices.Contains(m.conflictWith, other) {
					m.conflictWith = append(m.conflictWith, other)
				}
			}
			all[one] = m
		}
	}
	return all
}

// selectionsOf returns which policies select each node.
func selectionsOf(nodes map[string]*corev1.Node, set *policies.Set) map[string]policies.Selection {
	if set.Empty() {
		return nil
	}
	all := make(map[string]policies.Selection, len(nodes))
	for name, node := range nodes {
		all[name] = set.Select(node.Labels)
	}
	return all
}

// A policyScope is what the plan of one policy is made from.
type policyScope struct {
	*scope
	compiled *compilation
	specs    map[string]spec
	policy   *v1alpha1.RolloutPolicy
	limits   rollout.Policy
	members  members
	tracker  *rollout.Tracker
	held     map[string]*v1alpha1.Held // by node
	now      time.Time
}

// A situation is what is decided about in one policy.
type situation struct {
	*policyScope
	input   rollout.Input
	stop    policies.Stop
	aim     policies.Aim
	retried []string
	wait    limits.Wait
	edited  time.Time // since when the newest revision is that
}

// situation decides what is rolled out, and observes nodes.
func (s *policyScope) situation(p *rolloutPlanner) situation {
	is := situation{policyScope: s, edited: p.edits.since}
	state, retried := s.retry(rollout.StateOf(s.policy.Status))
	stop := s.policySet.Stop(s.policy.Name, s.now)
	is.retried, is.aim = retried, s.policySet.Aim(s.policy.Name, s.compiled.newest.Name, s.known)
	state, is.wait = s.setGoal(state, is.aim, stop, p.edits.left(s.now))
	is.stop = s.stopWith(state, is.aim, stop)
	unknown := is.stop.Reason == v1alpha1.ReasonInvalidPolicy || len(s.members.conflicts) > 0
	is.input = rollout.Input{Policy: s.limits, State: state, Nodes: s.observe(p, state), Stopped: is.stop.Stops(), Unknown: unknown, Now: s.now}
	return is
}

// plan is what follows from a decision.
func (s situation) plan(decided rollout.Decision) policyPlan {
	s.wait.Add(decided.Wake)
	if decided.Completed { // what comes after it may begin, also in other policies
		s.wait.Add(limits.Debounce)
	}
	next := policyPlan{
		policy: s.policy, status: s.status(decided), halted: decided.Halted, retried: s.retried,
		unused: s.missedWindow(decided.State), wake: time.Duration(s.wait),
	}
	if next.status.Started != nil {
		next.age = s.now.Sub(next.status.Started.Time)
	}
	return next
}

// setGoal returns the state with its goal, and when that may change though nothing happens. settles is how long edits still settle.
func (s *policyScope) setGoal(state rollout.State, aim policies.Aim, stop policies.Stop, settles time.Duration) (rollout.State, limits.Wait) {
	if aim.Pinned { // a person decided, and no edit
		settles = 0
	}
	newest := s.compiled.newest.Name
	state = rollout.Aim(state, rollout.Wanted{
		Revision: aim.Revision, Pinned: aim.Pinned, Newest: newest, Base: s.policySet.Base(newest), Settled: settles <= 0,
		Stopped: stop.Stops(), Touches: s.touches(state, aim.Revision), Policy: s.limits,
	}, s.now)
	var wait limits.Wait
	if state.Pending != "" && settles > 0 {
		wait.Add(settles)
	}
	if !stop.Until.IsZero() {
		wait.Add(max(stop.Until.Sub(s.now), limits.Debounce))
	}
	return state, wait
}

// stopWith returns why no node is admitted in a state, given why none is that changes: windows and gates hold up no return, and a revision
// that is gone holds up everything, also one that a person wants instead of the goal.
func (s *policyScope) stopWith(state rollout.State, aim policies.Aim, stop policies.Stop) policies.Stop {
	switch goal := state.Goal(); {
	case aim.Pinned && aim.Waits.Stalled:
		return aim.Waits
	case !s.known(goal):
		return policies.Stop{Reason: v1alpha1.ReasonInvalidPolicy, Stalled: true, Message: fmt.Sprintf(
			"CatalogRevision %s is gone, or one of its Catalogs, so nodes keep what they have: restore it, or change a resource, which makes another revision", goal)}
	case s.returns(state):
		return s.policySet.StopReturn(s.policy.Name)
	}
	return stop
}

// status returns the status of the policy after a decision.
func (s situation) status(decided rollout.Decision) v1alpha1.RolloutPolicyStatus {
	newest := s.compiled.newest.Name
	is := *s.policy.Status.DeepCopy()
	decided.State.Apply(&is)
	is.ObservedGeneration, is.Samples = s.policy.Generation, decided.Samples
	is.Conditions = policies.Conditions(policies.Outcome{
		Policy: s.policy.Name, Status: is, Generation: s.policy.Generation, Stop: s.stop, Waits: s.aim.Waits, Aim: s.aim.Revision, Newest: newest,
		Repaired: s.touches(decided.State, newest), Elsewhere: decided.Elsewhere, Halted: decided.Halted, MaxFailed: s.limits.MaxFailedOf(int(is.Nodes.Admitted)), Unproven: decided.Unproven,
		Conflicts: s.members.conflicts, ConflictWith: s.members.conflictWith, Now: s.now,
	})
	return is
}

// missedWindow reports whether the last window of the policy passed without a node that was admitted, although a revision waited for nodes.
func (s situation) missedWindow(state rollout.State) bool {
	n, waiting := state.Nodes, s.edited
	switch {
	case state.Target != "":
		waiting = state.Started
		if n.Admitted+n.Excluded >= n.Affected {
			return false
		}
	case state.Pending == "":
		return false
	}
	var admitted time.Time
	for _, node := range s.input.Nodes {
		if node.AtGoal && node.Since.After(admitted) {
			admitted = node.Since
		}
	}
	return s.policySet.WindowUnused(s.policy.Name, waiting, admitted, s.now)
}

// returns reports whether nodes go back: from a target to the stable revision, or to a completed one that somebody has pinned.
func (s *policyScope) returns(state rollout.State) bool {
	return state.Target != "" && (state.Target == state.Stable || state.Target == s.policy.Spec.Revision && state.Completed(state.Target))
}

// known reports whether a revision can be given to nodes.
func (s *policyScope) known(revision string) bool {
	return revision == s.compiled.newest.Name || s.compiled.stored[revision] != nil
}

// touches reports whether a revision changes something that the present target changed.
func (s *policyScope) touches(state rollout.State, revision string) bool {
	if state.Target == "" || revision == "" {
		return false
	}
	changed := s.compiled.differing(state.Stable, state.Target)
	for ref := range s.compiled.differing(state.Target, revision) {
		if changed[ref] {
			return true
		}
	}
	return false
}

// retry forgets the failures of nodes that somebody wants to try the target again.
func (s *policyScope) retry(state rollout.State) (rollout.State, []string) {
	var nodes []string
	for _, name := range s.members.nodes {
		if nc := s.nodeCatalogs[name]; nc != nil && state.Target != "" && nc.Annotations[v1alpha1.AnnotationRetryRollout] == state.Target {
			nodes = append(nodes, name)
		}
	}
	for _, name := range nodes {
		state = state.Retry(name)
		s.tracker.Forget(name)
	}
	return state, nodes
}

// observe returns the nodes of the policy as its decision sees them.
func (s *policyScope) observe(p *rolloutPlanner, state rollout.State) []rollout.Node {
	o := observer{
		policyScope: s, heartbeats: p.heartbeats, leaseDuration: p.leaseDuration, refusals: p.refusals, state: state,
		differ: contents.Differ{Entries: s.entries(s.compiled)}, groups: map[*v1alpha1.CatalogRef]string{},
	}
	all := make([]rollout.Node, 0, len(s.members.nodes))
	for _, name := range s.members.nodes {
		all = append(all, s.tracker.Observe(o.node(name), s.limits, s.now))
	}
	s.tracker.Retain(func(name string) bool { _, found := slices.BinarySearch(s.members.nodes, name); return found })
	return all
}
