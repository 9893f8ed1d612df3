package engine

import (
	"iter"

	"github.com/fettle-dev/fettle/internal/engine/plan"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A node is a resource of a run: one of the catalog, or one that another resource generates. It has what is known of the
// resource from one turn to the next. Only the owner of a field changes it.
type node struct {
	*resource.Item       // the caller's, which nobody changes
	index          int   // in the plan; that of its parent if it is generated
	parent         *node // that generates it; nil for a resource of the catalog
	noop           bool  // it only reports

	invalid  error        // why it fails without being read: run.refuse
	object   resource.Ref // what it manages, see [resource.Item.Object]: names
	identity string       // what its provider tells it apart by, "" if unknown: names
	choice   choice       // of its provider: providers
	reading  reading      // the last one: reads
	written  epoch        // of its last write, or that of what it comes after: epochs
	refresh  dueRefresh   // what it is to be refreshed for: refreshes
}

// isGenerated reports whether another resource generates the node.
func (n *node) isGenerated() bool { return n.parent != nil }

// order is the nodes of a run, and which of them come before others.
type order struct {
	*plan.Plan
	nodes []*node // by the numbers of the plan
}

// before returns what a node comes directly after.
func (o order) before(n *node) iter.Seq[*node] { return o.of(o.Graph.Before(n.index)) }

// after returns what comes directly after a node.
func (o order) after(n *node) iter.Seq[*node] { return o.of(o.Graph.After(n.index)) }

// notified returns what the events of a node go to.
func (o order) notified(n *node) iter.Seq[*node] { return o.of(o.Refreshes[n.index]) }

func (o order) of(indexes []int) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, i := range indexes {
			if !yield(o.nodes[i]) {
				return
			}
		}
	}
}

// ancestors reports by index what one of some nodes comes after, directly or not, and the nodes themselves.
func (o order) ancestors(of ...int) []bool {
	seen := make([]bool, len(o.nodes))
	for len(of) > 0 {
		n := of[len(of)-1]
		of = of[:len(of)-1]
		if !seen[n] {
			seen[n] = true
			of = append(of, o.Graph.Before(n)...)
		}
	}
	return seen
}

// ofKind returns some of the resources of a kind that the catalog manages.
func (o order) ofKind(kind string, some func(*node) bool) []*node {
	var all []*node
	for _, n := range o.nodes {
		if n.Ref.Kind == kind && n.Resource != nil && n.Deletes == nil && some(n) {
			all = append(all, n)
		}
	}
	return all
}

func resourcesOf(group []*node) []resource.Resource {
	all := make([]resource.Resource, len(group))
	for i, n := range group {
		all[i] = n.Resource
	}
	return all
}
