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
	Refreshes map[int][]int          // by node: what its events go to
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
	auto := autoEdges(relations, g)
	all := slices.Concat(edges, auto)
	joint := graphOf(n, all)
	// Automatic edges that close a cycle are dropped, since no author asked for them.
	if closed := joint.SCCs(); len(closed) > 0 {
		all = slices.Concat(edges, outsideComponents(auto, n, closed))
		joint = graphOf(n, all)
	}
	return &Plan{
		Graph: joint, Refreshes: refreshesOf(all),
		Cycles: cyclesOf(items, g, components), Dangling: dangling, Keys: keys, Related: relatedOf(items, relations),
	}
}

// refreshesOf returns what the events of nodes go to.
func refreshesOf(edges []Edge) map[int][]int {
	refreshes, carried := map[int][]int{}, map[[2]int]bool{}
	for _, e := range edges {
		if key := [2]int{e.From, e.To}; e.Refresh && !carried[key] {
			carried[key] = true
			refreshes[e.From] = append(refreshes[e.From], e.To)
		}
	}
	return refreshes
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

// relationsOf returns the relations that types declare between resources of the catalog. It omits those that have no effect.
func relationsOf(items []resource.Item, keys map[Key]int) []relation {
	var all []relation
	index := newIndex(items, keys)
	for i, item := range items {
		if item.Resource == nil {
			continue
		}
		for _, rel := range item.Resource.Relations() {
			if found := index.others(i, rel); len(found) > 0 || rel.SendDesired {
				all = append(all, relation{rel, i, found})
			}
		}
	}
	return all
}

// autoEdges returns the edges of relations. A written edge between two resources, in either direction, prevents
// automatic ones.
func autoEdges(relations []relation, written *graph.Graph) []Edge {
	var edges []Edge
	for _, rel := range relations {
		for _, other := range rel.found {
			if e := rel.edge(other); !written.Has(e.From, e.To) && !written.Has(e.To, e.From) {
				edges = append(edges, e)
			}
		}
	}
	return edges
}

// An index finds nodes by the names that others use for them.
type index struct {
	keys  map[Key]int
	kinds map[string]resource.Kind
	known map[Key]int // answers about other spellings, -1 for nothing: thousands of files have the same owner and directory
}

func newIndex(items []resource.Item, keys map[Key]int) index {
	x := index{keys: keys, kinds: map[string]resource.Kind{}, known: map[Key]int{}}
	for _, item := range items {
		if item.Resource != nil && x.kinds[item.Ref.Kind] == nil {
			x.kinds[item.Ref.Kind] = item.Resource.Kind()
		}
	}
	return x
}

// node returns the node with a name or, if nothing has it as it is written, with the name as its kind spells it.
func (x index) node(k Key) (n int, ok bool) {
	if n, ok = x.keys[k]; ok || x.kinds[k.Kind] == nil {
		return n, ok
	}
	if n, ok = x.known[k]; !ok {
		if n, ok = x.keys[Key{k.Kind, x.kinds[k.Kind].CanonicalName(k.Name)}]; !ok {
			n = -1
		}
		x.known[k] = n
	}
	return n, n >= 0
}

// others returns the nodes that a relation of a node finds.
func (x index) others(of int, rel resource.Relation) []int {
	var found []int
	for _, name := range rel.Names {
		other, ok := x.node(Key{rel.Kind, name})
		if !ok || other == of {
			continue
		}
		found = append(found, other)
		if rel.Nearest {
			break
		}
	}
	return found
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

// edge returns the edge of a relation to a node that it leads to.
func (r relation) edge(other int) Edge {
	switch r.declared.Relation {
	case resource.Before:
		return Edge{r.of, other, false}
	case resource.Notify:
		return Edge{r.of, other, true}
	case resource.Subscribe:
		return Edge{other, r.of, true}
	case resource.Require:
	}
	return Edge{other, r.of, false}
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
