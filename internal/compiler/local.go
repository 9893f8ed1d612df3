package compiler

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Local compiles for one machine without a cluster: for in.Nodes[0], which every nodeSelector matches if its Labels are
// nil. The entries are in the order of in.Resources, without those that have a problem. Problems name no node. The
// functions of the input must be safe for concurrent use.
func Local(in Input) (entries []v1alpha1.CatalogEntry, problems []Problem) {
	problems = local(in, false, func(e v1alpha1.CatalogEntry, _ resource.Resource) { entries = append(entries, e) })
	return entries, problems
}

// Prepare is Local for a caller that applies the entries at once: they are bound to their types, as [catalog.Items] does,
// and their size is not limited.
func Prepare(in Input) (items []resource.Item, problems []Problem) {
	problems = local(in, true, func(e v1alpha1.CatalogEntry, bound resource.Resource) { items = append(items, catalog.Item(e, bound)) })
	return items, problems
}

// Sketch returns all resources of the input with their edges, including those with problems and whatever they select:
// for display, not to be applied.
func Sketch(in Input) []resource.Item {
	drafts := new(Compiler).draftLocally(in, true).Drafts
	items := make([]resource.Item, 0, len(drafts))
	for _, d := range drafts {
		items = append(items, catalog.Item(d.Entry, d.Bound))
	}
	return items
}

// local calls use for each entry of the node that has no problem.
func local(in Input, bindOnly bool, use func(v1alpha1.CatalogEntry, resource.Resource)) []Problem {
	c := &Compiler{}
	revision := c.draftLocally(in, bindOnly)
	nodes := c.contexts(append(slices.Clip(in.Nodes), Node{})[:1])
	nodes[0].matchesAll = nodes[0].Labels == nil
	nodes[0].Acts.Able = true
	a := newAssigner(revision, nodes, nil, &meter{})
	maps.DeleteFunc(a.unplaced, func(_ *Draft, f *Fault) bool { return f.Reason == v1alpha1.ReasonNoNodesSelected })
	n := a.nodes[0]
	a.assign(n)
	for i, d := range n.group.members {
		if n.group.fault(n, i) != nil {
			continue
		}
		made := cmp.Or(n.own[d], &d.rendering)
		use(made.Entry, made.Bound)
	}
	return a.findings(nil).Problems(nil)
}

func (c *Compiler) draftLocally(in Input, bindOnly bool) *Revision {
	all := append(slices.Clip(in.Resources), placeholders(in)...)
	by := drafter{binder: binder{in.Kinds, bindOnly}, Input: in, Env: &c.env}
	return by.revise(all, runtime.GOMAXPROCS(0), c.selection)
}

// placeholders returns stand-ins for resources that are only known by name. They select every node.
func placeholders(in Input) []v1alpha1.Resource {
	var all []v1alpha1.Resource
	for _, ref := range slices.Sorted(maps.Keys(in.Refused)) {
		kind, name, _ := strings.Cut(string(ref), "/")
		if slices.ContainsFunc(in.Kinds, func(k resource.Kind) bool { return k.Name() == kind }) {
			r := v1alpha1.NamedResource(kind, name)
			r.GetTargeting().NodeSelector = &metav1.LabelSelector{}
			all = append(all, r)
		}
	}
	return all
}
