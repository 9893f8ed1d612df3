// Package plan orders the resources of a run by their relations.
package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/graph"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Plan is the order of a run and the paths of its events. Node numbers are the indexes of the
// items.
type Plan struct {
	Graph     *graph.Graph
	Before    [][]int                // by node: what it comes after
	Refreshes [][]int                // by node: what its events go to
	Cycles    map[int][]resource.Ref // the cycle that a node is part of
	Dangling  map[int]error          // edges that lead to nothing
	Keys      map[Key]int            // nodes by kind and name on the host
	// Related are the nodes whose desired states a node is to know, by node. Nodes without relations
	// that send those are missing.
	Related map[int][]int
}

// An Edge leads from a resource to a dependent. Events follow edges with Refresh.
type Edge struct {
	From, To int
	Refresh  bool
}

// New orders items by the relations that their authors wrote, and then by automatic ones, which never
// override those. A cycle is broken up, so that each of its members has a turn and fails in it.
func New(items []resource.Item) *Plan {
	n := len(items)
	written, dangling := writtenEdges(items)
	g := graphOf(n, written)
	components := g.SCCs()
	keys := byKey(items, false)
	relations := relationsOf(items, keys)
	edges := outsideComponents(written, n, components)
	// Automatic edges that close a cycle are dropped, since no author asked for them.
	auto := autoEdges(relations, g)
	edges = append(edges, outsideComponents(auto, n, graphOf(n, slices.Concat(edges, auto)).SCCs())...)
	p := &Plan{
		Graph: graph.New(n), Before: make([][]int, n), Refreshes: make([][]int, n),
		Cycles: cyclesOf(items, g, components), Dangling: dangling, Keys: keys, Related: relatedOf(items, relations),
	}
	p.add(edges)
	return p
}

func (p *Plan) add(edges []Edge) {
	carried := map[[2]int]bool{}
	for _, e := range edges {
		if !p.Graph.Has(e.From, e.To) {
			p.Before[e.To] = append(p.Before[e.To], e.From)
		}
		p.Graph.Add(e.From, e.To)
		if key := [2]int{e.From, e.To}; e.Refresh && !carried[key] {
			carried[key] = true
			p.Refreshes[e.From] = append(p.Refreshes[e.From], e.To)
		}
	}
}

// writtenEdges returns the edges that authors wrote. Those of a node that lead to nothing are dangling.
func writtenEdges(items []resource.Item) (edges []Edge, dangling map[int]error) {
	dangling = map[int]error{}
	index := make(map[resource.Ref]int, len(items))
	for i, item := range items {
		index[item.Ref] = i
	}
	for i, item := range items {
		follow := func(word string, refs []resource.Ref, make func(other int) Edge) {
			for _, ref := range refs {
				if other, ok := index[ref]; ok {
					edges = append(edges, make(other))
				} else {
					dangling[i] = errors.Join(dangling[i],
						fmt.Errorf("%s names %s, which is not in the catalog: add it or remove the reference", word, ref))
				}
			}
		}
		follow("require", item.Require, func(o int) Edge { return Edge{o, i, false} })
		follow("before", item.Before, func(o int) Edge { return Edge{i, o, false} })
		follow("notify", item.Notify, func(o int) Edge { return Edge{i, o, true} })
		follow("subscribe", item.Subscribe, func(o int) Edge { return Edge{o, i, true} })
	}
	return edges, dangling
}

// A Key identifies a resource by its kind and one of its names on the host.
type Key struct{ Kind, Name string }

// A relation is an automatic relation of a node.
type relation struct {
	declared resource.Relation
	of       int
	found    []int // the nodes that it leads to
}

// relationsOf returns the relations that types declare between resources of the catalog.
func relationsOf(items []resource.Item, keys map[Key]int) []relation {
	var all []relation
	spelled := spellings(items)
	for i, item := range items {
		if item.Resource == nil {
			continue
		}
		for _, rel := range item.Resource.Relations() {
			rel.Names = spelled.names(rel, keys)
			all = append(all, relation{rel, i, others(i, rel, keys)})
		}
	}
	return all
}

// autoEdges returns the edges of relations. A written edge between two resources, in either direction, prevents
// automatic ones.
func autoEdges(relations []relation, written *graph.Graph) []Edge {
	var edges []Edge
	for _, rel := range relations {
		for _, e := range rel.edges() {
			if !written.Has(e.From, e.To) && !written.Has(e.To, e.From) {
				edges = append(edges, e)
			}
		}
	}
	return edges
}

// A spelling spells names of kinds as their types do.
type spelling struct {
	kinds     map[string]resource.Kind
	canonical map[Key]string // known answers: thousands of files have the same owner and directory
}

func spellings(items []resource.Item) spelling {
	s := spelling{kinds: map[string]resource.Kind{}, canonical: map[Key]string{}}
	for _, item := range items {
		if item.Resource != nil && s.kinds[item.Ref.Kind] == nil {
			s.kinds[item.Ref.Kind] = item.Resource.Kind()
		}
	}
	return s
}

func (s spelling) canonicalName(of resource.Kind, k Key) string {
	name, known := s.canonical[k]
	if !known {
		name = of.CanonicalName(k.Name)
		s.canonical[k] = name
	}
	return name
}

// names returns the names of a relation, in the spelling of the other kind where nothing has them as they are written.
func (s spelling) names(rel resource.Relation, index map[Key]int) []string {
	of := s.kinds[rel.Kind]
	if of == nil {
		return rel.Names
	}
	all := slices.Clone(rel.Names)
	for i, name := range all {
		k := Key{rel.Kind, name}
		if _, ok := index[k]; !ok {
			all[i] = s.canonicalName(of, k)
		}
	}
	return all
}

// byKey indexes resources by their names on the host: either deletions or all others. The first of
// several resources with the same name wins.
func byKey(items []resource.Item, deletions bool) map[Key]int {
	index := make(map[Key]int, len(items))
	for i, item := range slices.Backward(items) {
		if item.Resource == nil || deletions != (item.Deletes != nil) {
			continue
		}
		for _, name := range item.Resource.Keys() {
			index[Key{item.Ref.Kind, name}] = i
		}
	}
	return index
}

func (r relation) edges() []Edge {
	var edges []Edge
	for _, other := range r.found {
		carries := r.declared.Relation == resource.Notify || r.declared.Relation == resource.Subscribe
		e := Edge{other, r.of, carries}
		if r.declared.Relation == resource.Before || r.declared.Relation == resource.Notify {
			e.From, e.To = r.of, other
		}
		edges = append(edges, e)
	}
	return edges
}

// others returns the nodes that a relation of a node finds.
func others(i int, rel resource.Relation, index map[Key]int) []int {
	var found []int
	for _, name := range rel.Names {
		other, ok := index[Key{rel.Kind, name}]
		if !ok || other == i {
			continue
		}
		found = append(found, other)
		if rel.Nearest {
			break
		}
	}
	return found
}

// cyclesOf returns the cycles among written edges, by each node in one.
func cyclesOf(items []resource.Item, g *graph.Graph, components [][]int) map[int][]resource.Ref {
	cycles := map[int][]resource.Ref{}
	for _, members := range components {
		var refs []resource.Ref
		for _, n := range g.Cycle(members) {
			refs = append(refs, items[n].Ref)
		}
		for _, n := range members {
			cycles[n] = refs
		}
	}
	return cycles
}

func graphOf(n int, edges []Edge) *graph.Graph {
	g := graph.New(n)
	for _, e := range edges {
		g.Add(e.From, e.To)
	}
	return g
}

// Acyclic returns the edges that are not part of a cycle, for n nodes.
func Acyclic(n int, edges []Edge) []Edge {
	return outsideComponents(edges, n, graphOf(n, edges).SCCs())
}

// outsideComponents returns the edges that are not inside one of the components, for n nodes.
func outsideComponents(edges []Edge, n int, components [][]int) []Edge {
	if len(components) == 0 {
		return edges
	}
	component := make([]int, n)
	for k, members := range components {
		for _, n := range members {
			component[n] = k + 1
		}
	}
	var kept []Edge
	for _, e := range edges {
		if k := component[e.From]; k == 0 || k != component[e.To] {
			kept = append(kept, e)
		}
	}
	return kept
}
