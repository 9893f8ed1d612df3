package graph_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/graph"
)

func build(n int, edges ...[2]int) *graph.Graph {
	g := graph.New(n)
	for _, e := range edges {
		g.Add(e[0], e[1])
	}
	return g
}

// drain removes all nodes from a queue.
func drain(g *graph.Graph) []int {
	var order []int
	q := g.Queue()
	for {
		n, ok := q.Pop()
		if !ok {
			return order
		}
		order = append(order, n)
		q.Done(n)
	}
}

func TestQueue(t *testing.T) {
	for name, c := range map[string]struct {
		g    *graph.Graph
		want []int
	}{
		"without edges, nodes are in the order of their numbers": {build(4), []int{0, 1, 2, 3}},
		"an edge moves only the nodes it must":                   {build(4, [2]int{3, 1}), []int{0, 2, 3, 1}},
		"the lowest ready node comes first":                      {build(5, [2]int{4, 0}, [2]int{4, 1}, [2]int{2, 4}), []int{2, 3, 4, 0, 1}},
		"a duplicate edge counts once":                           {build(2, [2]int{1, 0}, [2]int{1, 0}), []int{1, 0}},
		"nodes on or after a cycle are never ready":              {build(5, [2]int{0, 1}, [2]int{1, 0}, [2]int{1, 2}), []int{3, 4}},
		"a node with an edge to itself is never ready":           {build(2, [2]int{0, 0}), []int{1}},
		"nodes before a cycle are ready":                         {build(3, [2]int{2, 0}, [2]int{0, 1}, [2]int{1, 0}), []int{2}},
		"the end of a diamond comes last":                        {build(4, [2]int{3, 1}, [2]int{3, 2}, [2]int{1, 0}, [2]int{2, 0}), []int{3, 1, 2, 0}},
		"an empty graph":                                         {build(0), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, drain(c.g)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPopAllRemovesOnlyWantedReadyNodes(t *testing.T) {
	q := build(6, [2]int{0, 4}).Queue()
	even := q.PopAll(func(n int) bool { return n%2 == 0 })
	if diff := cmp.Diff([]int{0, 2}, even); diff != "" {
		t.Error(diff)
	}
	q.Done(0)
	q.Push(2)
	var rest []int
	for n, ok := q.Pop(); ok; n, ok = q.Pop() {
		rest = append(rest, n)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, rest); diff != "" {
		t.Error(diff)
	}
}

func TestCycles(t *testing.T) {
	for name, c := range map[string]struct {
		g                  *graph.Graph
		components, cycles [][]int
	}{
		"an acyclic graph":                             {build(3, [2]int{0, 1}, [2]int{1, 2}, [2]int{0, 2}), nil, nil},
		"a cycle follows its edges":                    {build(4, [2]int{1, 3}, [2]int{3, 2}, [2]int{2, 1}), [][]int{{1, 2, 3}}, [][]int{{1, 3, 2}}},
		"an edge to itself":                            {build(2, [2]int{1, 1}), [][]int{{1}}, [][]int{{1}}},
		"components are sorted by their lowest nodes":  {build(5, [2]int{4, 2}, [2]int{2, 4}, [2]int{3, 1}, [2]int{1, 3}), [][]int{{1, 3}, {2, 4}}, [][]int{{1, 3}, {2, 4}}},
		"successors of a component are not part of it": {build(3, [2]int{1, 0}, [2]int{1, 2}, [2]int{2, 1}), [][]int{{1, 2}}, [][]int{{1, 2}}},
		"the shortest of several cycles": {
			build(4, [2]int{0, 1}, [2]int{0, 2}, [2]int{2, 3}, [2]int{3, 0}, [2]int{1, 0}),
			[][]int{{0, 1, 2, 3}},
			[][]int{{0, 1}},
		},
		"the shortest cycle through the lowest node": {
			build(4, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}, [2]int{1, 0}, [2]int{2, 3}, [2]int{3, 1}),
			[][]int{{0, 1, 2, 3}},
			[][]int{{0, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.components, c.g.SCCs()); diff != "" {
				t.Errorf("components: %s", diff)
			}
			if diff := cmp.Diff(c.cycles, c.g.Cycles()); diff != "" {
				t.Errorf("cycles: %s", diff)
			}
		})
	}
}

func TestReachableIncludesIndirectSuccessors(t *testing.T) {
	g := build(5, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}, [2]int{3, 4})
	if diff := cmp.Diff([]bool{true, true, true, false, false}, g.Reachable(1)); diff != "" {
		t.Error(diff)
	}
}

// FuzzGraph compares the queue with the components: the order respects every
// edge, and it omits exactly the components and the nodes after them.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{5, 0, 1, 1, 2, 2, 0, 3, 4})
	f.Add([]byte{3, 2, 1, 1, 0})
	f.Add([]byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		n := int(b[0])%20 + 1
		g := graph.New(n)
		for i := 1; i+1 < len(b); i += 2 {
			g.Add(int(b[i])%n, int(b[i+1])%n)
		}
		order := drain(g)
		for from := range n {
			for _, to := range g.After(from) {
				i, j := slices.Index(order, from), slices.Index(order, to)
				if j >= 0 && (i < 0 || i >= j) {
					t.Fatalf("edge %d to %d is broken by %v", from, to, order)
				}
			}
		}
		stuck := g.Reachable(slices.Concat(g.SCCs()...)...)
		for m, s := range stuck {
			if s == slices.Contains(order, m) {
				t.Fatalf("node %d: stuck %v, order %v, components %v", m, s, order, g.SCCs())
			}
		}
		for _, c := range g.Cycles() {
			for i, m := range c {
				if !g.Has(m, c[(i+1)%len(c)]) {
					t.Fatalf("cycle %v has no edge after %d", c, m)
				}
			}
		}
	})
}

func BenchmarkQueue(b *testing.B) {
	const n = 10000
	g := graph.New(n)
	for i := range n - 10 {
		g.Add(i, i+10)
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(drain(g)) != n {
			b.Fatal("not all were ready")
		}
	}
}
