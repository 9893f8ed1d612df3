package nodestatus

import (
	"maps"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Summary is the state of one resource on the nodes that it selects.
type Summary struct {
	Counts    v1alpha1.NodeCounts
	Unapplied int32                 // nodes with an unapplied Unknown state
	Samples   []v1alpha1.NodeSample // at most MaxSamples, the most urgent first
}

// A Summarizer summarizes resources while the index does not change. It counts the nodes that
// resources with equal targeting have in common once.
type Summarizer struct {
	index  *Index
	groups map[*string]*group // by the address of the first node
}

// A group is a set of nodes with their default states.
type group struct {
	counts  tally
	samples []v1alpha1.NodeSample // the first of each unhealthy state
}

// A tally counts nodes by state.
type tally struct {
	by        map[v1alpha1.ResourceState]int32
	unapplied int32
}

func (t *tally) add(s State, n int32) {
	t.by[s.ResourceState] += n
	if s.Unapplied {
		t.unapplied += n
	}
}

// Summarizer returns one for the index as it is.
func (x *Index) Summarizer() *Summarizer { return &Summarizer{x, map[*string]*group{}} }

// Summarize counts a resource on nodes, which must be sorted, in the index, and the same slice
// for resources with equal targeting.
func (s *Summarizer) Summarize(ref v1alpha1.ResourceRef, nodes []string) Summary {
	g, exceptions := s.group(nodes), s.index.exceptions[ref]
	t := tally{by: maps.Clone(g.counts.by), unapplied: g.counts.unapplied}
	var samples []v1alpha1.NodeSample
	for node, e := range exceptions {
		t.add(s.index.nodes[node].standard, -1)
		t.add(e, 1)
		samples = appendUnhealthy(samples, node, e)
	}
	for _, sample := range g.samples {
		if _, excepted := exceptions[sample.Node]; !excepted {
			samples = append(samples, sample)
		}
	}
	counts := Counts(len(nodes), t.by)
	if len(samples) < min(MaxSamples, int(counts.Selected-counts.InSync)) {
		samples = s.allSamples(ref, nodes) // too many of the group's samples are exceptions
	}
	return Summary{counts, t.unapplied, TopSamples(samples)}
}

func (s *Summarizer) group(nodes []string) *group {
	if len(nodes) == 0 {
		return &group{counts: tally{by: map[v1alpha1.ResourceState]int32{}}}
	}
	if g := s.groups[&nodes[0]]; g != nil {
		return g
	}
	g := &group{counts: tally{by: map[v1alpha1.ResourceState]int32{}}}
	for _, node := range nodes {
		state := s.index.nodes[node].standard
		g.counts.add(state, 1)
		if g.counts.by[state.ResourceState] <= MaxSamples {
			g.samples = appendUnhealthy(g.samples, node, state)
		}
	}
	s.groups[&nodes[0]] = g
	return g
}

func (s *Summarizer) allSamples(ref v1alpha1.ResourceRef, nodes []string) (samples []v1alpha1.NodeSample) {
	for _, node := range nodes {
		state, excepted := s.index.exceptions[ref][node]
		if !excepted {
			state = s.index.nodes[node].standard
		}
		samples = appendUnhealthy(samples, node, state)
	}
	return samples
}

func appendUnhealthy(samples []v1alpha1.NodeSample, node string, s State) []v1alpha1.NodeSample {
	if Healthy(s.ResourceState) {
		return samples
	}
	return append(samples, Sample(node, s))
}

// Counts converts numbers of nodes by state to the form of a status.
func Counts(selected int, by map[v1alpha1.ResourceState]int32) v1alpha1.NodeCounts {
	out := v1alpha1.NodeCounts{Selected: int32(selected)}
	for s, n := range by {
		*counter(&out, s) += n
	}
	return out
}

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
	case v1alpha1.StateDisabled:
		return &c.Disabled
	case v1alpha1.StateUnknown:
		return &c.Unknown
	}
	return &c.OutOfSync // a state that only a newer agent knows
}
