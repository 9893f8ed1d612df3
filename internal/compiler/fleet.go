package compiler

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Fleet is the nodes of one compilation, to which any number of revisions are assigned. It is valid until the next call of
// [Compiler.Nodes], and not safe for concurrent use.
type Fleet struct {
	compiler *Compiler
	nodes    []*evalContext // sorted by name
	actors   *actors        // of Place; nil before
	limit    Usage          // of each assignment
	stop     <-chan struct{}
	// last is the result of the last revision that was assigned to all nodes: KeepFrom tries what is assigned next.
	last struct {
		*Revision
		Result
	}
}

// Nodes begins a compilation for these nodes. What expressions gave on nodes that have not changed is retained from the last
// one, for all revisions that were assigned in it.
func (c *Compiler) Nodes(nodes []Node) *Fleet {
	return &Fleet{compiler: c, nodes: c.contexts(nodes)}
}

// Assign gives nodes their part of a revision. nil names are all nodes; unknown names are ignored. The result is about these nodes,
// except that problems that a resource has whatever the node are in every result. Expressions have the limits of a whole fleet
// in each call. A node gets the same from a revision whichever others are among the names, unless an expression exceeds its limit.
//
// A call for all nodes with the revision of the last such call returns its result, whatever seal is.
func (f *Fleet) Assign(r *Revision, names []string, seal Sealer) Result {
	if names != nil {
		return f.assign(r, f.named(names), seal, f.meter())
	}
	if f.last.Revision != r {
		f.last.Revision, f.last.Result = r, f.assign(r, f.nodes, seal, f.meter())
	}
	return f.last.Result
}

func (f *Fleet) meter() *meter { return &meter{limit: f.limit, stop: f.stop} }

// named returns the nodes with these names, sorted.
func (f *Fleet) named(names []string) []*evalContext {
	var all []*evalContext
	for _, name := range sorted(names) {
		i, found := slices.BinarySearchFunc(f.nodes, name, func(n *evalContext, name string) int { return strings.Compare(n.Name, name) })
		if found {
			all = append(all, f.nodes[i])
		}
	}
	return all
}

func (f *Fleet) assign(r *Revision, nodes []*evalContext, seal Sealer, spent *meter) Result {
	result := Result{
		Catalogs: map[string]*v1alpha1.Catalog{},
		Nodes:    make(map[string]*NodeResult, len(nodes)),
		Selected: make(map[v1alpha1.ResourceRef][]string, len(r.Drafts)),
	}
	acting := f.actors
	if acting == nil {
		acting = place(f.nodes, spent, r)
	}
	a := newAssigner(r, nodes, acting, seal, spent)
	selected := make([][]string, len(r.Targets))
	for _, n := range a.nodes {
		if spent.err != nil {
			return Result{Err: spent.err}
		}
		a.assign(n)
		n.forget()
		result.Nodes[n.Name] = n.group.resultFor(n, spent)
		for _, t := range n.targets {
			selected[t.Index] = append(selected[t.Index], n.Name)
		}
	}
	result.addTargets(r, selected)
	result.Problems = a.findings(result.Selected).Problems(result.Selected)
	result.Usage, result.Err = spent.Usage, spent.err
	return result
}

// addTargets adds the catalogs of the targets that select nodes. selected has their names by the index of the target.
func (r *Result) addTargets(of *Revision, selected [][]string) {
	for i, t := range of.Targets {
		for _, d := range t.Drafts {
			r.Selected[d.Ref] = selected[i]
		}
		if len(selected[i]) > 0 {
			for _, packed := range t.Catalogs {
				r.Catalogs[packed.Name] = packed
			}
		}
	}
}
