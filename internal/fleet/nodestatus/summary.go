package nodestatus

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Summary is the state of one resource on nodes. The zero value is about no node.
type Summary struct {
	Counts    v1alpha1.NodeCounts
	Unapplied int32                 // nodes with an unapplied Unknown state
	Samples   []v1alpha1.NodeSample // at most MaxSamples, the most urgent first
}

// Add adds a node.
func (s *Summary) Add(node string, is State) {
	s.Counts.Selected++
	counted := counter(&s.Counts, is.ResourceState)
	*counted++
	if is.OutOfSync && counted != &s.Counts.OutOfSync {
		s.Counts.OutOfSync++
	}
	if is.Unapplied {
		s.Unapplied++
	}
	if Healthy(is.ResourceState) {
		return
	}
	sample := v1alpha1.NodeSample{Node: node, State: is.ResourceState}
	at, _ := slices.BinarySearchFunc(s.Samples, sample, func(a, b v1alpha1.NodeSample) int {
		return cmp.Or(urgency(a.State)-urgency(b.State), strings.Compare(a.Node, b.Node))
	})
	if at < MaxSamples {
		sample.Message = Message(is.Message)
		s.Samples = slices.Insert(s.Samples, at, sample)
		s.Samples = s.Samples[:min(len(s.Samples), MaxSamples)]
	}
}

// Other is the number of nodes in a state that only a newer agent knows. They count as out of sync.
func (s Summary) Other() int32 {
	c := s.Counts
	return c.Selected - c.InSync - c.Failed - c.Skipped - c.Noop - c.Pending - c.Disabled - c.Unknown
}

// A group summarizes nodes that resources with equal targeting have in common.
type group struct {
	plain  Summary // of any resource on the nodes that have no exceptions
	others []*entry
}

// Summarize summarizes a resource on nodes, which must be in the index. Resources that select the
// same nodes must have the same slice.
func (x *Index) Summarize(ref v1alpha1.ResourceRef, nodes []string) Summary {
	if len(nodes) == 0 {
		return Summary{}
	}
	g := x.groups[&nodes[0]]
	if g == nil {
		g = x.addGroup(nodes)
	}
	s := g.plain
	s.Samples = slices.Clone(s.Samples)
	for _, e := range g.others {
		s.Add(e.Name, e.state(ref))
	}
	return s
}

func (x *Index) addGroup(nodes []string) *group {
	g := &group{}
	for _, name := range nodes {
		if e := x.nodes[name]; e.isPlain() {
			g.plain.Add(name, e.standard)
		} else {
			g.others = append(g.others, e)
		}
	}
	if x.groups == nil {
		x.groups = map[*string]*group{}
	}
	x.groups[&nodes[0]] = g
	return g
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
