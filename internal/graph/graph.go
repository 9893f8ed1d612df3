// Package graph sorts nodes topologically.
//
// Nodes are numbered from 0 in their preferred order. Of the nodes that are ready, the one with the lowest number comes
// first.
package graph

import (
	"container/heap"
	"slices"
)

// A Graph is a directed graph of the nodes 0 to n-1. An edge leads from a node to one that comes after it. It is not safe
// for concurrent changes.
type Graph struct {
	after  [][]int // by node: its successors, in the order in which they were added
	before [][]int // by node: its predecessors, likewise
	edges  map[[2]int]struct{}
}

// New returns a graph of n nodes without edges.
func New(n int) *Graph {
	return &Graph{after: make([][]int, n), before: make([][]int, n), edges: map[[2]int]struct{}{}}
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.after) }

// Add adds an edge. Adding it again has no effect.
func (g *Graph) Add(from, to int) {
	if g.Has(from, to) {
		return
	}
	g.edges[[2]int{from, to}] = struct{}{}
	g.after[from] = append(g.after[from], to)
	g.before[to] = append(g.before[to], from)
}

// Has reports whether there is an edge.
func (g *Graph) Has(from, to int) bool {
	_, ok := g.edges[[2]int{from, to}]
	return ok
}

// After returns the direct successors of a node. The caller must not change them.
func (g *Graph) After(node int) []int { return g.after[node] }

// Before returns the direct predecessors of a node. The caller must not change them.
func (g *Graph) Before(node int) []int { return g.before[node] }

// Reachable reports by node whether it is one of the given nodes or comes after one, directly or not.
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

// A Queue returns nodes whose predecessors are done, the lowest number first. Nodes on a cycle, and nodes after them, are
// never ready.
type Queue struct {
	g       *Graph
	waiting []int // by node: the number of predecessors that are not done
	ready   intHeap
}

// Queue returns a queue of all nodes. The graph must not change any more.
func (g *Graph) Queue() *Queue {
	q := &Queue{g: g, waiting: make([]int, g.Len())}
	for n, before := range g.before {
		q.waiting[n] = len(before)
		if len(before) == 0 {
			q.ready = append(q.ready, n)
		}
	}
	heap.Init(&q.ready)
	return q
}

// Pop removes the first node that is ready; ok is false if no node is ready.
func (q *Queue) Pop() (node int, ok bool) {
	if len(q.ready) == 0 {
		return 0, false
	}
	return heap.Pop(&q.ready).(int), true
}

// Push returns a node to the queue that was popped and is not done.
func (q *Queue) Push(node int) { heap.Push(&q.ready, node) }

// PopAll removes all ready nodes for which keep is true, and returns them in order.
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

// PopRow removes at most the given number of nodes that would come next if a popped node and each of them were done
// immediately. It ends where that would make another node ready that comes first, or where keep is false.
func (q *Queue) PopRow(popped, most int, keep func(node int) bool) []int {
	var taken []int
	left := map[int]int{} // by node: the number of predecessors outside the row
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

// Done marks a popped node as done. Successors that waited only for it become ready.
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
