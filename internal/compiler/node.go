package compiler

import (
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// An evalContext is a node as expressions see it, and the results of the expressions. It is retained until the node
// changes, because decoding its facts and rendering its templates takes most of the time of a compilation.
type evalContext struct {
	Node
	matchesAll bool // of nodes without a cluster: every nodeSelector matches
	decoded    bool // facts were decoded,
	reported   bool // and there were some
	vars       map[string]any
	results    memo[result] // by key of the evaluation
}

// contexts returns the nodes sorted by name. Nodes that have not changed since the last call are the same again.
func (c *Compiler) contexts(nodes []Node) []*evalContext {
	all := make([]*evalContext, len(nodes))
	known := make(map[string]*evalContext, len(nodes))
	for i, n := range nodes {
		ctx := c.nodes[n.Name]
		if ctx == nil || !ctx.same(&n) {
			ctx = &evalContext{}
		}
		ctx.Node = n
		ctx.results.rotate()
		all[i], known[n.Name] = ctx, ctx
	}
	c.nodes = known
	slices.SortFunc(all, func(a, b *evalContext) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// same reports whether expressions give the same results on both nodes.
func (n *Node) same(o *Node) bool {
	return n.FactsKey == o.FactsKey && (n.Facts == nil) == (o.Facts == nil) &&
		maps.Equal(n.Labels, o.Labels) && maps.Equal(n.Annotations, o.Annotations)
}

// hasFacts reports whether the node has reported facts.
func (n *evalContext) hasFacts() bool {
	if !n.decoded && n.Facts != nil {
		n.variables()
	}
	return n.reported
}

// variables returns the variables of expressions and templates, which must not be changed.
func (n *evalContext) variables() map[string]any {
	if n.vars != nil {
		return n.vars
	}
	facts := resource.Facts{}
	if n.Facts != nil {
		if reported := n.Facts(); reported != nil {
			facts, n.reported = reported, true
		}
	}
	n.decoded = true
	n.vars = map[string]any{
		"facts": map[string]any(facts),
		"node":  map[string]any{"name": n.Name, "labels": values(n.Labels), "annotations": values(n.Annotations)},
	}
	return n.vars
}

// forget drops decoded facts, which take far more memory than results.
func (n *evalContext) forget() { n.vars = nil }

// values returns a map of the type that template functions take.
func values(m map[string]string) map[string]any {
	all := make(map[string]any, len(m))
	for key, value := range m {
		all[key] = value
	}
	return all
}

// A memo retains the values that were used since the last turn.
type memo[V any] struct{ before, now map[string]V }

func (m *memo[V]) rotate() { m.before, m.now = m.now, nil }

func (m *memo[V]) get(key string) (v V, ok bool) {
	if v, ok = m.now[key]; ok {
		return v, true
	}
	if v, ok = m.before[key]; ok {
		m.put(key, v)
	}
	return v, ok
}

func (m *memo[V]) put(key string, v V) {
	if m.now == nil {
		m.now = map[string]V{}
	}
	m.now[key] = v
}
