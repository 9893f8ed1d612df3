package policies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/text"
)

// Order returns the names of all policies. Each comes after those that its spec.after names, and an invalid one as late as that
// allows. Policies that wait for each other are in no particular order.
func (s *Set) Order() (names []string) {
	sorted := slices.Clone(s.sorted)
	slices.SortStableFunc(sorted, func(a, b *policy) int { return cmp.Compare(min(len(a.fault), 1), min(len(b.fault), 1)) })
	queue := withoutCycles(waits(sorted)).Queue()
	for i, ok := queue.Pop(); ok; i, ok = queue.Pop() {
		names = append(names, sorted[i].Name)
		queue.Done(i)
	}
	return names
}

// waits returns the graph of policies by number, with an edge to each that waits for another.
func waits(all []*policy) *graph.Graph {
	number := map[string]int{}
	for i, p := range all {
		number[p.Name] = i
	}
	g := graph.New(len(all))
	for i, p := range all {
		for _, name := range p.Spec.After {
			if from, known := number[name]; known {
				g.Add(from, i)
			}
		}
	}
	return g
}

// withoutCycles returns the edges of a graph that are on no cycle.
func withoutCycles(g *graph.Graph) *graph.Graph {
	out := graph.New(g.Len())
	for from := range g.Len() {
		for _, to := range g.After(from) {
			if !g.Reachable(to)[from] {
				out.Add(from, to)
			}
		}
	}
	return out
}

// validateAfter finds policies that wait for one that does not exist, or for each other.
func (s *Set) validateAfter() {
	g := waits(s.sorted)
	for i, p := range s.sorted {
		p.fault = cmp.Or(p.fault, s.unknownAfter(p), s.cycle(g, i))
	}
}

func (s *Set) unknownAfter(p *policy) string {
	for _, name := range p.Spec.After {
		if s.named[name] == nil {
			return fmt.Sprintf("spec.after names %q, which does not exist: create this RolloutPolicy, or remove the name", text.Line(name))
		}
	}
	return ""
}

// cycle names the policies that wait for each other, if this one is among them.
func (s *Set) cycle(g *graph.Graph, of int) string {
	behind := g.Reachable(g.After(of)...)
	if !behind[of] {
		return ""
	}
	var names []string
	for i, p := range s.sorted {
		if behind[i] && g.Reachable(i)[of] {
			names = append(names, p.Name)
		}
	}
	if len(names) == 1 {
		return "spec.after names the policy itself: remove the name"
	}
	return fmt.Sprintf("spec.after: %s wait for each other: remove a name from one of them", strings.Join(names, ", "))
}
