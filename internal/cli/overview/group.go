package overview

import (
	"cmp"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// An ExplanationGroup are nodes on which a resource is in the same state for the same reason.
type ExplanationGroup struct {
	Explanation // of the first node; Since is the earliest, and Drift has the sum of the counts
	Nodes       []string
}

// GroupedExplanations groups explanations: problems first, then the largest groups.
func GroupedExplanations(all []Explanation) (groups []ExplanationGroup) {
	type key struct {
		selected, held bool
		state          v1alpha1.ResourceState
		reason         string
	}
	at := map[key]int{}
	for _, e := range all {
		k := key{e.Selected, e.Held, e.State, e.Reason}
		i, known := at[k]
		if !known {
			at[k] = len(groups)
			groups = append(groups, ExplanationGroup{Explanation: e, Nodes: []string{e.Node}})
			continue
		}
		groups[i].add(e)
	}
	slices.SortStableFunc(groups, func(a, b ExplanationGroup) int {
		return cmp.Or(urgency(a.Explanation)-urgency(b.Explanation), len(b.Nodes)-len(a.Nodes))
	})
	return groups
}

func (g *ExplanationGroup) add(e Explanation) {
	g.Nodes = append(g.Nodes, e.Node)
	if g.Since == nil || e.Since != nil && e.Since.Before(g.Since) {
		g.Since = e.Since
	}
	switch {
	case e.Drift == nil:
	case g.Drift == nil:
		g.Drift = e.Drift
	default:
		sum := *g.Drift
		sum.Count += e.Drift.Count
		if sum.LastSeen.Before(&e.Drift.LastSeen) {
			sum.LastSeen, sum.Author = e.Drift.LastSeen, e.Drift.Author
		}
		g.Drift = &sum
	}
}

// SortExplanations puts problems first, and leaves the order of nodes otherwise.
func SortExplanations(all []Explanation) {
	slices.SortStableFunc(all, func(a, b Explanation) int { return urgency(a) - urgency(b) })
}

// urgency orders explanations: a held update, what needs a person, what is unknown, what is on its way, and what is in sync.
func urgency(e Explanation) int {
	if e.Held {
		return 0
	}
	order := []v1alpha1.ResourceState{
		v1alpha1.StateFailed, v1alpha1.StateWithheld, v1alpha1.StateSkipped, v1alpha1.StateUnknown, v1alpha1.StateDisabled, v1alpha1.StateNoop, v1alpha1.StatePending, v1alpha1.StateInSync,
	}
	if i := slices.Index(order, e.State); i >= 0 {
		return 1 + i
	}
	return 1 + len(order)
}
