package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A plan is the order of a run, and where events go. Nodes are numbered as the items.
type plan struct {
	graph     *graph.Graph
	before    [][]int                // by node: what it comes after
	refreshes [][]int                // by node: what its events go to
	cycles    map[int][]resource.Ref // the cycle that a node is part of
	dangling  map[int]error          // edges that lead to nothing
	keys      map[key]int            // nodes by kind and name on the host
}

// edge leads from what comes first to what comes after; refresh carries events.
type edge struct {
	from, to int
	refresh  bool
}

// newPlan orders items: by the edges that their author wrote, then by autorelations,
// which never override those. A cycle is broken up so that its members have a turn,
// in which they fail.
func newPlan(items []resource.Item) *plan {
	n := len(items)
	p := &plan{
		before: make([][]int, n), refreshes: make([][]int, n),
		cycles: map[int][]resource.Ref{}, dangling: map[int]error{}, keys: byKey(items),
	}
	written := p.writtenEdges(items)
	g := graphOf(n, written)
	knots := g.SCCs()
	p.noteCycles(items, g, knots)
	auto := autoEdges(items, g, p.keys)
	edges := outsideKnots(written, n, knots)
	if len(auto) > 0 {
		// Where automatic edges close a cycle, they give way: nobody asked for them.
		all := graphOf(n, slices.Concat(edges, auto))
		edges = append(edges, outsideKnots(auto, n, all.SCCs())...)
	}
	p.build(n, edges)
	return p
}

func (p *plan) build(n int, edges []edge) {
	p.graph = graph.New(n)
	carried := map[[2]int]bool{}
	for _, e := range edges {
		if !p.graph.Has(e.from, e.to) {
			p.before[e.to] = append(p.before[e.to], e.from)
		}
		p.graph.Add(e.from, e.to)
		if key := [2]int{e.from, e.to}; e.refresh && !carried[key] {
			carried[key] = true
			p.refreshes[e.from] = append(p.refreshes[e.from], e.to)
		}
	}
}

// writtenEdges are the author's. Those that lead to nothing are noted.
func (p *plan) writtenEdges(items []resource.Item) []edge {
	index := make(map[resource.Ref]int, len(items))
	for i, item := range items {
		index[item.Ref] = i
	}
	var edges []edge
	for i, item := range items {
		follow := func(word string, refs []resource.Ref, make func(other int) edge) {
			for _, ref := range refs {
				if other, ok := index[ref]; ok {
					edges = append(edges, make(other))
				} else {
					p.dangling[i] = errors.Join(p.dangling[i],
						fmt.Errorf("%s names %s, which is not in the catalog: add it or remove the reference", word, ref))
				}
			}
		}
		follow("require", item.Require, func(o int) edge { return edge{o, i, false} })
		follow("before", item.Before, func(o int) edge { return edge{i, o, false} })
		follow("notify", item.Notify, func(o int) edge { return edge{i, o, true} })
		follow("subscribe", item.Subscribe, func(o int) edge { return edge{o, i, true} })
	}
	return edges
}

// key finds a resource by kind and one of its names on the host.
type key struct{ kind, name string }

// autoEdges are those that types add between resources that happen to be there. None
// is added against a written edge between the same two, whichever way that goes.
func autoEdges(items []resource.Item, written *graph.Graph, index map[key]int) []edge {
	var edges []edge
	for i, item := range items {
		if item.Resource == nil {
			continue
		}
		for _, rel := range item.Resource.Relations() {
			for _, e := range toEdges(i, rel, index) {
				if !written.Has(e.from, e.to) && !written.Has(e.to, e.from) {
					edges = append(edges, e)
				}
			}
		}
	}
	return edges
}

// byKey finds resources by their names on the host, but what leaves; the first one has a
// name that two of them claim.
func byKey(items []resource.Item) map[key]int {
	index := make(map[key]int, len(items))
	for i, item := range slices.Backward(items) {
		if item.Resource == nil || item.Deletes != nil {
			continue
		}
		for _, name := range item.Resource.Keys() {
			index[key{item.Ref.Kind, name}] = i
		}
	}
	return index
}

func toEdges(i int, rel resource.Relation, index map[key]int) []edge {
	var edges []edge
	for _, name := range rel.Names {
		other, ok := index[key{rel.Kind, name}]
		if !ok || other == i {
			continue
		}
		carries := rel.Relation == resource.Notify || rel.Relation == resource.Subscribe
		e := edge{other, i, carries}
		if rel.Relation == resource.Before || rel.Relation == resource.Notify {
			e.from, e.to = i, other
		}
		edges = append(edges, e)
		if rel.Nearest {
			break
		}
	}
	return edges
}

// noteCycles remembers the cycles among written edges, for every node in a knot.
func (p *plan) noteCycles(items []resource.Item, g *graph.Graph, knots [][]int) {
	for _, knot := range knots {
		var refs []resource.Ref
		for _, n := range g.Cycle(knot) {
			refs = append(refs, items[n].Ref)
		}
		for _, n := range knot {
			p.cycles[n] = refs
		}
	}
}

// outsideKnots keeps the edges that are not inside one of the knots, among n nodes.
func outsideKnots(edges []edge, n int, knots [][]int) []edge {
	if len(knots) == 0 {
		return edges
	}
	knotOf := make([]int, n)
	for k, knot := range knots {
		for _, n := range knot {
			knotOf[n] = k + 1
		}
	}
	var kept []edge
	for _, e := range edges {
		if k := knotOf[e.from]; k == 0 || k != knotOf[e.to] {
			kept = append(kept, e)
		}
	}
	return kept
}

func graphOf(n int, edges []edge) *graph.Graph {
	g := graph.New(n)
	for _, e := range edges {
		g.Add(e.from, e.to)
	}
	return g
}
