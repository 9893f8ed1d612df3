package compiler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
)

// divide returns the targets of the nodes that they select, and those of one acting node.
func (r *Revision) divide() (shared, remote []*Target) {
	for _, t := range r.Targets {
		if t.Remote == nil {
			shared = append(shared, t)
		} else {
			remote = append(remote, t)
		}
	}
	return shared, remote
}

// eachSelected calls a function for each node that a target selects, or may select: then f is the reason why that is unknown.
func eachSelected(targets []*Target, nodes []*evalContext, spent *meter, each func(target, node int, f *fault.Fault)) {
	whens := map[string]*evaluation{}
	matching := make([][]int, len(targets))
	for i, t := range targets {
		matching[i] = t.matching(nodes)
		if !spent.spend(Usage{Pairs: len(matching[i])}) {
			return
		}
		if t.decidesByWhen() && whens[t.Key] == nil { // the same for all targets with the key
			whens[t.Key] = t.evaluation(at(nodes, matching[i]))
		}
	}
	over := evaluate(slices.Collect(maps.Values(whens)), spent)
	for i, t := range targets {
		for _, j := range matching[i] {
			if selected, f := nodes[j].decide(t, over); selected {
				each(i, j, f)
			}
		}
	}
}

// matching returns the positions of the nodes that the nodeSelector matches.
func (t *Target) matching(nodes []*evalContext) []int {
	all := make([]int, 0, len(nodes))
	for i, n := range nodes {
		if n.matchesAll || t.Matches(n.Labels) {
			all = append(all, i)
		}
	}
	return slices.Clip(all)
}

func at(nodes []*evalContext, positions []int) []*evalContext {
	all := make([]*evalContext, len(positions))
	for i, position := range positions {
		all[i] = nodes[position]
	}
	return all
}

// decidesByWhen reports whether some of the nodes that the nodeSelector matches may be left out.
func (t *Target) decidesByWhen() bool { return t.When != nil && t.Fault == nil }

// decide returns whether a target selects a node that its nodeSelector matches. If that is unknown, the resources are
// the node's, and withheld. over has the keys of targets that exceed a limit.
func (n *evalContext) decide(t *Target, over map[string]bool) (selected bool, f *fault.Fault) {
	switch {
	case !t.decidesByWhen():
		return true, t.Fault
	case over[t.Key]:
		return true, overLimit(v1alpha1.ReasonInvalidWhen, fmt.Sprintf("when %q", t.Text), "select by labels")
	case n.lacksFacts(t.When):
		return true, waitingForFacts(n)
	}
	result, _ := n.results.get(t.Key)
	if result.err != nil {
		return true, fault.New(v1alpha1.ReasonInvalidWhen, "when %q fails on %s: %v", t.Text, n.which(), result.err)
	}
	return result.holds, nil
}
