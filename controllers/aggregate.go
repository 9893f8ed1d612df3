package controllers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
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
	counts  census
	samples []v1alpha1.NodeSample // the first of each state that is not good
}

// A census counts nodes by state.
type census struct {
	by        map[v1alpha1.ResourceState]int32
	unapplied int32 // of those that are unknown: had yet to apply it, or did not succeed
}

func (c *census) add(is state, n int32) {
	c.by[is.ResourceState] += n
	if is.unapplied {
		c.unapplied += n
	}
}

// counts are what a status says.
func (c *census) counts(selected int) v1alpha1.NodeCounts {
	out := v1alpha1.NodeCounts{Selected: int32(selected)}
	for s, n := range c.by {
		*counter(&out, s) += n
	}
	return out
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
	g := &group{counts: census{by: map[v1alpha1.ResourceState]int32{}}}
	for _, node := range nodes {
		is := a.standings.nodes[node].rest
		g.counts.add(is, 1)
		if !good(is.ResourceState) && g.counts.by[is.ResourceState] <= maxSamples {
			g.samples = append(g.samples, sample(node, is))
		}
	}
	return g
}

// A gathering is how a resource is on the nodes that it selects.
type gathering struct {
	counts    v1alpha1.NodeCounts
	unapplied int32 // of the nodes that are unknown: had yet to apply it, or did not succeed
	samples   []v1alpha1.NodeSample
}

// of counts the nodes that a resource selects, and picks samples. nodes are sorted, and
// the same slice for resources of one targeting.
func (a *aggregation) of(ref v1alpha1.ResourceRef, nodes []string) gathering {
	g, exceptions := a.group(nodes), a.standings.exceptions[ref]
	is := census{by: maps.Clone(g.counts.by), unapplied: g.counts.unapplied}
	var samples []v1alpha1.NodeSample
	for node, e := range exceptions {
		is.add(a.standings.nodes[node].rest, -1)
		is.add(e, 1)
		if !good(e.ResourceState) {
			samples = append(samples, sample(node, e))
		}
	}
	for _, s := range g.samples {
		if _, is := exceptions[s.Node]; !is {
			samples = append(samples, s)
		}
	}
	counts := is.counts(len(nodes))
	if len(samples) < min(maxSamples, int(counts.Selected-counts.InSync)) {
		samples = a.all(ref, nodes) // too many of the group's are exceptions
	}
	slices.SortFunc(samples, compareSamples)
	return gathering{counts, is.unapplied, samples[:min(len(samples), maxSamples)]}
}

// all are the nodes on which a resource is not good.
func (a *aggregation) all(ref v1alpha1.ResourceRef, nodes []string) []v1alpha1.NodeSample {
	var samples []v1alpha1.NodeSample
	for _, node := range nodes {
		is := a.standings.nodes[node].rest
		if e, other := a.standings.exceptions[ref][node]; other {
			is = e
		}
		if !good(is.ResourceState) {
			samples = append(samples, sample(node, is))
		}
	}
	return samples
}

func good(s v1alpha1.ResourceState) bool {
	return s == v1alpha1.StateInSync || s == v1alpha1.StateChanged || s == v1alpha1.StateRefreshed
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
	case v1alpha1.StateUnknown:
		return &c.Unknown
	}
	return &c.OutOfSync // a state that a newer agent knows, or none of the good ones
}

// urgency orders samples: what needs a person comes first.
func urgency(s v1alpha1.ResourceState) int {
	order := []v1alpha1.ResourceState{
		v1alpha1.StateFailed, v1alpha1.StateWithheld, v1alpha1.StateSkipped, v1alpha1.StateUnknown, "", v1alpha1.StateNoop, v1alpha1.StatePending,
	}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}

// shortened keeps ten samples, and a condition, at a size that people read, and printable:
// what a node reports may be anything.
func shortened(s string) string {
	const limit = 256
	s = text.Line(s)
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("...")], "") + "..."
}
