package compiler

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
	"github.com/fettle-dev/fettle/internal/expression"
)

// A Compiler compiles a fleet from the beginning each time. It only retains the results of expressions on nodes that do
// not change; the result of a compilation does not depend on earlier ones. The zero value is ready to use. A Compiler is
// for one set of kinds, and not safe for concurrent use.
type Compiler struct {
	env        expression.Environment
	selections memo[*targeting.Selection]
	nodes      map[string]*evalContext
}

// Compile compiles a fleet once.
func Compile(in Input) Result { return new(Compiler).Compile(in) }

// Compile compiles a fleet: [Compiler.Draft] and [Compiler.Assign].
func (c *Compiler) Compile(in Input) Result {
	return c.Assign(c.Draft(in), in.Nodes, in.Seal)
}

// Draft compiles resources without looking at nodes.
func (c *Compiler) Draft(in Input) *Revision {
	resources := slices.SortedFunc(slices.Values(in.Resources), compareResources)
	r := c.revise(resources, drafter{kinds: in.Kinds, env: &c.env, configMap: in.ConfigMap, secret: in.Secret}, 1)
	for _, t := range r.targets {
		t.pack()
	}
	return r
}

// Assign gives each node its part of a revision.
func (c *Compiler) Assign(r *Revision, nodes []Node, seal Sealer) Result {
	result := Result{
		Catalogs: map[string]*v1alpha1.Catalog{},
		Nodes:    make(map[string]*NodeResult, len(nodes)),
		Selected: make(map[v1alpha1.ResourceRef][]string, len(r.drafts)),
	}
	a := newAssigner(r, c.contexts(nodes), seal)
	selected := make([][]string, len(r.targets))
	for _, n := range a.nodes {
		a.assign(n)
		n.forget()
		result.Nodes[n.Name] = n.group.resultFor(n)
		for _, t := range n.targets {
			selected[t.index] = append(selected[t.index], n.Name)
		}
	}
	for i, t := range r.targets {
		for _, d := range t.drafts {
			result.Selected[d.ref] = selected[i]
		}
		if len(selected[i]) > 0 {
			for _, packed := range t.catalogs {
				result.Catalogs[packed.Name] = packed
			}
		}
	}
	result.Problems = a.findings(result.Selected).problems(result.Selected)
	return result
}
