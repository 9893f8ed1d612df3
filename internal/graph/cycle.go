package graph

import "slices"

// Cycles returns one cycle of each of the graph's [Graph.SCCs]: a path along edges whose last node leads back to its first,
// which is the lowest number of the component.
func (g *Graph) Cycles() [][]int {
	var cycles [][]int
	for _, group := range g.SCCs() {
		cycles = append(cycles, g.Cycle(group))
	}
	return cycles
}

// SCCs returns the strongly connected components that have more than one node, or one node with an edge to itself. Their
// nodes are never ready. Components are sorted by their lowest nodes, and so are the nodes of each.
func (g *Graph) SCCs() [][]int {
	if len(g.edges) == 0 {
		return nil
	}
	t := tarjan{g: g, index: make([]int, g.Len()), low: make([]int, g.Len()), on: make([]bool, g.Len())}
	for n := range g.Len() {
		if t.index[n] == 0 {
			t.visit(n)
		}
	}
	slices.SortFunc(t.components, func(a, b []int) int { return a[0] - b[0] })
	return t.components
}

// Cycle returns a shortest cycle through the first node of one of the graph's [Graph.SCCs].
func (g *Graph) Cycle(component []int) []int {
	start := component[0]
	came := map[int]int{}
	queue := []int{start}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, next := range g.after[n] {
			if next == start {
				return pathTo(n, start, came)
			}
			if _, seen := came[next]; seen {
				continue
			}
			if _, inside := slices.BinarySearch(component, next); inside {
				came[next] = n
				queue = append(queue, next)
			}
		}
	}
	return component
}

func pathTo(n, start int, came map[int]int) []int {
	path := []int{n}
	for n != start {
		n = came[n]
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// tarjan finds strongly connected components in one pass. It has its own stack of frames, so that a chain of a hundred
// thousand resources does not exhaust the stack of the goroutine.
type tarjan struct {
	g          *Graph
	index, low []int // 0: not visited
	on         []bool
	next       int
	stack      []int
	components [][]int
}

type frame struct{ node, edge int }

func (t *tarjan) visit(root int) {
	t.enter(root)
	frames := []frame{{node: root}}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.edge < len(t.g.after[f.node]) {
			next := t.g.after[f.node][f.edge]
			f.edge++
			if t.index[next] == 0 {
				t.enter(next)
				frames = append(frames, frame{node: next})
			} else if t.on[next] {
				t.low[f.node] = min(t.low[f.node], t.index[next])
			}
			continue
		}
		frames = frames[:len(frames)-1]
		t.leave(f.node)
		if len(frames) > 0 {
			parent := frames[len(frames)-1].node
			t.low[parent] = min(t.low[parent], t.low[f.node])
		}
	}
}

func (t *tarjan) enter(n int) {
	t.next++
	t.index[n], t.low[n], t.on[n] = t.next, t.next, true
	t.stack = append(t.stack, n)
}

func (t *tarjan) leave(n int) {
	if t.low[n] != t.index[n] {
		return
	}
	at := len(t.stack) - 1
	for t.stack[at] != n {
		at--
	}
	group := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, m := range group {
		t.on[m] = false
	}
	if len(group) > 1 || t.g.Has(n, n) {
		slices.Sort(group)
		t.components = append(t.components, group)
	}
}
