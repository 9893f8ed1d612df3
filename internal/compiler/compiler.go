// Package compiler makes catalogs from resources, in two steps: Draft turns resources into a [Revision], without
// looking at nodes, and Assign gives each node its part of one. A revision can be stored in the cluster and restored, so that
// several of them can be assigned in one compilation, each to some of the nodes.
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

// Compile compiles a fleet with one revision: [Compiler.Draft], [Compiler.Nodes] and [Fleet.Assign].
func (c *Compiler) Compile(in Input) Result { return c.bounded(in).Assign(c.Draft(in), nil, in.Seal) }

// bounded returns the fleet of an input, with its limits.
func (c *Compiler) bounded(in Input) *Fleet {
	fleet := c.Nodes(in.Nodes)
	fleet.limit, fleet.stop = in.Limit, in.Stop
	return fleet
}

// Draft compiles resources without looking at nodes. Call it once per compilation: targetings that neither the last call nor
// what followed it has used are compiled again.
func (c *Compiler) Draft(in Input) *Revision {
	resources := slices.SortedFunc(slices.Values(in.Resources), compareResources)
	c.selections.rotate()
	r := drafter{binder: binder{kinds: in.Kinds}, Input: in, Env: &c.env}.revise(resources, 1, c.selection)
	r.refuseRemotePurges(in.External)
	r.definitions = definitionsOf(in.External)
	r.pack()
	return r
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
