// Package compiler makes catalogs from resources, in two steps: Draft turns resources into a [Revision], without
// looking at nodes, and Assign gives each node its part of one.
//
// The compiler is pure: the same input gives the same bytes, in whatever order. An error in a resource is a [Problem],
// a value that becomes a condition of that resource; the rest of the fleet goes on.
package compiler

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
	"github.com/fettle-dev/fettle/internal/expression"
)

// A Compiler compiles a fleet from the beginning each time. It only retains the results of expressions on nodes that do
// not change; the result of a compilation does not depend on earlier ones. The zero value is ready to use. A Compiler is
// for one set of built-in kinds, and not safe for concurrent use.
type Compiler struct {
	env        expression.Environment
	selections memo[*targeting.Selection]
	nodes      map[string]*evalContext
}

// Compile compiles a fleet once.
func Compile(in Input) Result { return new(Compiler).Compile(in) }

// Compile compiles a fleet: [Compiler.Draft] and [Compiler.Assign].
func (c *Compiler) Compile(in Input) Result {
	return c.assign(c.Draft(in), in.Nodes, in.Seal, &meter{limit: in.Limit, stop: in.Stop})
}

// Draft compiles resources without looking at nodes.
func (c *Compiler) Draft(in Input) *Revision {
	resources := slices.SortedFunc(slices.Values(in.Resources), compareResources)
	c.selections.rotate()
	r := drafter{binder: binder{kinds: in.Kinds}, Input: in, Env: &c.env}.revise(resources, 1, c.selection)
	r.refuseRemotePurges(in.External)
	for _, t := range r.Targets {
		t.pack()
	}
	return r
}

// Assign gives each node its part of a revision.
func (c *Compiler) Assign(r *Revision, nodes []Node, seal Sealer) Result {
	return c.assign(r, nodes, seal, &meter{})
}

func (c *Compiler) assign(r *Revision, nodes []Node, seal Sealer, spent *meter) Result {
	result := Result{
		Catalogs: map[string]*v1alpha1.Catalog{},
		Nodes:    make(map[string]*NodeResult, len(nodes)),
		Selected: make(map[v1alpha1.ResourceRef][]string, len(r.Drafts)),
	}
	a := newAssigner(r, c.contexts(nodes), seal, spent)
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
	for i, t := range r.Targets {
		for _, d := range t.Drafts {
			result.Selected[d.Ref] = selected[i]
		}
		if len(selected[i]) > 0 {
			for _, packed := range t.Catalogs {
				result.Catalogs[packed.Name] = packed
			}
		}
	}
	result.Problems = a.findings(result.Selected).Problems(result.Selected)
	result.Usage, result.Err = spent.Usage, spent.err
	return result
}

// selection returns the compiled targeting of a key.
func (c *Compiler) selection(key string, t *v1alpha1.Targeting) *targeting.Selection {
	s, known := c.selections.get(key)
	if !known {
		s = targeting.New(t, &c.env)
		c.selections.put(key, s)
	}
	return s
}

// compareResources orders by kind and name, and then by content, because an input may have two of one name.
func compareResources(a, b v1alpha1.Resource) int {
	if byName := strings.Compare(string(v1alpha1.RefOf(a)), string(v1alpha1.RefOf(b))); byName != 0 || a == b {
		return byName
	}
	first, _ := catalog.Encode(a) // types of the API encode
	second, _ := catalog.Encode(b)
	return slices.Compare(first.Raw, second.Raw)
}

// Result is the desired state of the fleet.
type Result struct {
	// Catalogs has the catalogs by name. Each is used by at least one node.
	Catalogs map[string]*v1alpha1.Catalog
	// Nodes has a result by name for every node of the input.
	Nodes map[string]*NodeResult
	// Selected maps each resource to the sorted names of the nodes that it selects. Resources of one targeting share
	// one slice.
	Selected map[v1alpha1.ResourceRef][]string
	// Problems are sorted by resource, node and reason.
	Problems []Problem
	// Usage is what the compilation took.
	Usage Usage
	// Err is [ErrUsage] or [ErrStopped] if the compilation ended early, so that there is nothing else; nil if its input has
	// neither Limit nor Stop.
	Err error
}

// NodeResult is the desired state of one node. Nodes with the same state may share one.
type NodeResult struct {
	Spec v1alpha1.NodeCatalogSpec
	// Digest is the digest of Spec, which the node's agent reports once it has applied it.
	Digest string

	shared map[v1alpha1.ResourceRef]string // hashes of the entries in shared catalogs
	own    map[v1alpha1.ResourceRef]string // hashes of the node's own entries
}

// EntryHash identifies the node's entry of a resource: it changes when the entry does. It is "" if the resource does
// not select the node or is withheld from it.
func (n *NodeResult) EntryHash(ref v1alpha1.ResourceRef) string {
	if hash, ok := n.own[ref]; ok {
		return hash
	}
	return n.shared[ref]
}
