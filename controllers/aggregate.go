package controllers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// maxSamples is how many nodes a status names.
const maxSamples = 10

// An aggregation counts for one pass. What resources of one targeting have in common it
// counts once.
type aggregation struct {
	standings *standings
	groups    map[*string]*group // by the first of the nodes
}

// A group is the nodes that one targeting selects, by how they are with what is no
// exception there.
type group struct {
	counts  map[v1alpha1.ResourceState]int32
	samples []v1alpha1.NodeSample // the first of each state that is not good
}

func (s *standings) aggregation() *aggregation {
	return &aggregation{s, map[*string]*group{}}
}

func (a *aggregation) group(nodes []string) *group {
	if len(nodes) == 0 {
		return &group{}
	}
	g := a.groups[&nodes[0]]
	if g == nil {
		g = a.newGroup(nodes)
		a.groups[&nodes[0]] = g
	}
	return g
}

func (a *aggregation) newGroup(nodes []string) *group {
	g := &group{counts: map[v1alpha1.ResourceState]int32{}}
	for _, node := range nodes {
		is := a.standings.nodes[node].rest
		g.counts[is.ResourceState]++
		if is.ResourceState != v1alpha1.StateInSync && g.counts[is.ResourceState] <= maxSamples {
			g.samples = append(g.samples, sample(node, is))
		}
	}
	return g
}

// of counts the nodes that a resource selects, and picks samples. nodes are sorted, and
// the same slice for resources of one targeting.
func (a *aggregation) of(ref v1alpha1.ResourceRef, nodes []string) (v1alpha1.NodeCounts, []v1alpha1.NodeSample) {
	g, exceptions := a.group(nodes), a.standings.exceptions[ref]
	counts := v1alpha1.NodeCounts{Selected: int32(len(nodes))}
	for s, n := range g.counts {
		*counter(&counts, s) += n
	}
	var samples []v1alpha1.NodeSample
	for node, is := range exceptions {
		*counter(&counts, a.standings.nodes[node].rest.ResourceState)--
		*counter(&counts, is.ResourceState)++
		if counter(&counts, is.ResourceState) != &counts.InSync {
			samples = append(samples, sample(node, is))
		}
	}
	for _, s := range g.samples {
		if _, is := exceptions[s.Node]; !is {
			samples = append(samples, s)
		}
	}
	slices.SortFunc(samples, compareSamples)
	return counts, samples[:min(len(samples), maxSamples)]
}

func sample(node string, is state) v1alpha1.NodeSample {
	return v1alpha1.NodeSample{Node: node, State: is.ResourceState, Message: shortened(is.message)}
}

func compareSamples(a, b v1alpha1.NodeSample) int {
	return cmp.Or(cmp.Compare(urgency(a.State), urgency(b.State)), strings.Compare(a.Node, b.Node))
}

// counter is the one of the counts that a state belongs to.
func counter(c *v1alpha1.NodeCounts, s v1alpha1.ResourceState) *int32 {
	switch s {
	case v1alpha1.StateInSync, v1alpha1.StateChanged, v1alpha1.StateRefreshed:
		return &c.InSync
	case v1alpha1.StateFailed:
		return &c.Failed
	case v1alpha1.StateSkipped, v1alpha1.StateWithheld:
		return &c.Skipped
	case v1alpha1.StateNoop:
		return &c.Noop
	case v1alpha1.StatePending:
		return &c.Pending
	}
	return &c.OutOfSync // a state that a newer agent knows, or none of the good ones
}

// urgency orders samples: what needs a person comes first.
func urgency(s v1alpha1.ResourceState) int {
	order := []v1alpha1.ResourceState{
		v1alpha1.StateFailed, v1alpha1.StateWithheld, v1alpha1.StateSkipped, "", v1alpha1.StateNoop, v1alpha1.StatePending,
	}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// shortened keeps ten samples, and a condition, at a size that people read.
func shortened(s string) string {
	const limit = 256
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("...")], "") + "..."
}
