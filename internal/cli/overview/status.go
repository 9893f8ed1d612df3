package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// Recent is the age of drift that a Status counts.
const Recent = 24 * time.Hour

// A Status is the state of a fleet.
type Status struct {
	// Nodes by state, as the Fleet counts them.
	Nodes v1alpha1.FleetNodes `json:"nodes"`
	// Resources are the sums of what the nodes report. A resource counts once for each of its nodes.
	Resources ResourceCounts `json:"resources"`
	// Drift is the drift of the last 24 hours.
	Drift DriftCounts `json:"drift"`
	// Deselection is what is held, with the command that confirms it; nil if nothing is, or the Fleet cannot be read.
	Deselection *v1alpha1.HeldDeselection `json:"deselection,omitempty"`
	// Rollouts are the policies whose rollouts are in progress, halted, paused, pinned or wait.
	Rollouts []Policy `json:"rollouts,omitempty"`
	// Problems are the nodes that need attention, and Others those that are pending or out of sync. Both are sorted by state, what
	// causes the most trouble first, and then by name.
	Problems []NodeProblem `json:"problems"`
	Others   []NodeProblem `json:"others"`
}

// ResourceCounts counts resources on nodes.
type ResourceCounts struct {
	Total int64 `json:"total"`
	nodestate.Counts
}

// DriftCounts counts drift.
type DriftCounts struct {
	Resources   int `json:"resources"`   // that drifted
	Nodes       int `json:"nodes"`       // on which they did
	Uncorrected int `json:"uncorrected"` // resources on nodes
}

// A NodeProblem is a node that is not in sync.
type NodeProblem struct {
	Node    string          `json:"node"`
	State   nodestate.State `json:"state"`
	Reason  string          `json:"reason"`
	Since   time.Time       `json:"since"`
	Message string          `json:"message"`
}

// StatusOf sums up the state of nodes.
func StatusOf(all []NodeCatalog, now time.Time) Status {
	s := Status{Problems: []NodeProblem{}, Others: []NodeProblem{}}
	for _, n := range all {
		s.Resources.Add(n.Counts())
		is := n.State()
		CountNode(&s.Nodes, is.State)
		problem := NodeProblem{Node: n.Name, State: is.State, Reason: is.Reason, Since: is.Since, Message: is.Message}
		switch {
		case is.State.NeedsAttention():
			s.Problems = append(s.Problems, problem)
		case is.State != nodestate.InSync:
			s.Others = append(s.Others, problem)
		}
	}
	s.Resources.Total = s.Resources.Counts.Total()
	sortProblems(s.Problems)
	sortProblems(s.Others)
	s.Drift = driftCounts(all, now)
	return s
}

// RolloutsToCome reports whether nodes do not have changes yet that rollouts are to bring.
func (s Status) RolloutsToCome() bool {
	return s.Nodes.Waiting > 0 || slices.ContainsFunc(s.Rollouts, func(p Policy) bool { return !p.Ready && !p.Stalled })
}

// RolloutsStalled reports whether a rollout needs a person.
func (s Status) RolloutsStalled() bool {
	return slices.ContainsFunc(s.Rollouts, func(p Policy) bool { return p.Stalled })
}

func driftCounts(all []NodeCatalog, now time.Time) (c DriftCounts) {
	q := Query{Since: now.Add(-Recent)}
	for _, q.By = range []string{ByResource, ByNode} {
		rows := Drifts(all, q)
		if q.By == ByNode {
			c.Nodes = len(rows)
			continue
		}
		c.Resources = len(rows)
		for _, r := range rows {
			c.Uncorrected += r.Uncorrected
		}
	}
	return c
}

// CountNode adds a node in a state.
func CountNode(c *v1alpha1.FleetNodes, state nodestate.State) {
	c.Total++
	counters := map[nodestate.State]*int32{
		nodestate.Silent: &c.Silent, nodestate.Disabled: &c.Disabled, nodestate.Held: &c.Held, nodestate.Pending: &c.Pending,
		nodestate.Failed: &c.Failed, nodestate.Withheld: &c.Withheld, nodestate.OutOfSync: &c.OutOfSync, nodestate.InSync: &c.InSync,
	}
	*counters[state]++
}

// Urgency orders states of nodes: what somebody has to do, what is not known, and what is on its way.
func Urgency(s nodestate.State) int {
	return slices.Index([]nodestate.State{
		nodestate.Held, nodestate.Failed, nodestate.Withheld, nodestate.Silent, nodestate.Disabled, nodestate.OutOfSync, nodestate.Pending, nodestate.InSync,
	}, s)
}

func sortProblems(all []NodeProblem) {
	slices.SortFunc(all, func(a, b NodeProblem) int {
		return cmp.Or(Urgency(a.State)-Urgency(b.State), strings.Compare(a.Node, b.Node))
	})
}

// A ProblemGroup are nodes that are not in sync for the same reason.
type ProblemGroup struct {
	NodeProblem // of the first node; Since is the earliest
	Nodes       []string
}

// GroupedProblems groups problems: by state, the largest groups first.
func GroupedProblems(all []NodeProblem) (groups []ProblemGroup) {
	type key struct {
		state           nodestate.State
		reason, message string
	}
	at := map[key]int{}
	for _, p := range all {
		k := key{p.State, p.Reason, p.Message}
		i, known := at[k]
		if !known {
			i, at[k] = len(groups), len(groups)
			groups = append(groups, ProblemGroup{NodeProblem: p})
		}
		groups[i].Nodes = append(groups[i].Nodes, p.Node)
		groups[i].Since = earlier(groups[i].Since, p.Since)
	}
	slices.SortStableFunc(groups, func(a, b ProblemGroup) int {
		return cmp.Or(Urgency(a.State)-Urgency(b.State), len(b.Nodes)-len(a.Nodes))
	})
	return groups
}

// earlier returns the earlier one of two times. The zero time is unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
