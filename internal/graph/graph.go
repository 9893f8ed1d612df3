// Package graph orders things that depend on each other.
//
// Things are numbered from 0 in their natural order, which is kept wherever the
// edges allow: of all that is ready the lowest number comes first.
package graph

import (
	"container/heap"
	"slices"
)

// A Graph is directed, over the nodes 0 to n-1. An edge leads from what comes first
// to what comes after it. Not safe for concurrent changes.
type Graph struct {
	after  [][]int // by node: what comes after it, in the order it was added
	before []int   // by node: how many edges lead to it
	edges  map[[2]int]struct{}
}

// New makes a graph of n nodes without edges.
func New(n int) *Graph {
	return &Graph{after: make([][]int, n), before: make([]int, n), edges: map[[2]int]struct{}{}}
}

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.after) }

// Add adds an edge; a second one between the same two changes nothing.
func (g *Graph) Add(from, to int) {
	if g.Has(from, to) {
		return
	}
	g.edges[[2]int{from, to}] = struct{}{}
	g.after[from] = append(g.after[from], to)
	g.before[to]++
}

// Has reports whether there is an edge.
func (g *Graph) Has(from, to int) bool {
	_, ok := g.edges[[2]int{from, to}]
	return ok
}

// After lists what directly comes after a node. Not to be changed.
func (g *Graph) After(node int) []int { return g.after[node] }

// Reachable marks the given nodes and all that come after them, directly or not.
func (g *Graph) Reachable(from ...int) []bool {
	seen := make([]bool, g.Len())
	stack := slices.Clone(from)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		stack = append(stack, g.after[n]...)
	}
	return seen
}

// A Queue hands out nodes once all that comes before them is done, the lowest
// number first. Nodes on a cycle, and what comes after them, are never ready.
type Queue struct {
	g       *Graph
	waiting []int // by node: how many of those before it are not done
	ready   intHeap
}

// Queue starts at the beginning of the graph, which must not change any more.
func (g *Graph) Queue() *Queue {
	q := &Queue{g: g, waiting: slices.Clone(g.before)}
	for n, w := range q.waiting {
		if w == 0 {
			q.ready = append(q.ready, n)
		}
	}
	heap.Init(&q.ready)
	return q
}

// Pop takes the first node that is ready.
func (q *Queue) Pop() (node int, ok bool) {
	if len(q.ready) == 0 {
		return 0, false
	}
	return heap.Pop(&q.ready).(int), true
}

// Push puts a node back that was popped and not done.
func (q *Queue) Push(node int) { heap.Push(&q.ready, node) }

// PopAll takes, in order, all ready nodes for which keep is true.
func (q *Queue) PopAll(keep func(node int) bool) []int {
	var taken []int
	rest := q.ready[:0]
	for _, n := range q.ready {
		if keep(n) {
			taken = append(taken, n)
		} else {
			rest = append(rest, n)
		}
	}
	q.ready = rest
	heap.Init(&q.ready)
	slices.Sort(taken)
	return taken
}

// PopRow takes the nodes that would come next, at most so many, if a node that was popped
// and each of them were done at once: until that makes one ready which comes first, or
// keep is false.
func (q *Queue) PopRow(popped, most int, keep func(node int) bool) []int {
	var taken []int
	left := map[int]int{} // by node: how many of those before it are not in the row
	turn := len(q.waiting)
	follow := func(node int) {
		for _, n := range q.g.after[node] {
			if _, seen := left[n]; !seen {
				left[n] = q.waiting[n]
			}
			if left[n]--; left[n] == 0 {
				turn = min(turn, n)
			}
		}
	}
	follow(popped)
	for len(taken) < most && len(q.ready) > 0 && q.ready[0] < turn && keep(q.ready[0]) {
		node := heap.Pop(&q.ready).(int)
		taken = append(taken, node)
		follow(node)
	}
	return taken
}

// Done marks a node that was popped as done and makes ready what waited for it last.
func (q *Queue) Done(node int) {
	for _, n := range q.g.after[node] {
		if q.waiting[n]--; q.waiting[n] == 0 {
			heap.Push(&q.ready, n)
		}
	}
}

type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
