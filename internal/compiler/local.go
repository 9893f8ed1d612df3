package compiler

import (
	"cmp"
	"maps"
	"path"
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
	problems = local(in, false, visitor{
		entry:    func(e v1alpha1.CatalogEntry, _ resource.Resource) { entries = append(entries, e) },
		withheld: func(*Draft, *Fault) {},
	})
	return entries, problems
}

// Prepare is Local for a caller that applies the entries at once: they are bound to their types, as [catalog.Items] does,
// and their size is not limited. withheld are the resources with problems.
func Prepare(in Input) (items []resource.Item, withheld []resource.Withheld, problems []Problem) {
	known := locations(in)
	items = make([]resource.Item, 0, len(in.Resources))
	problems = local(in, true, visitor{
		entry: func(e v1alpha1.CatalogEntry, bound resource.Resource) { items = append(items, catalog.Item(e, bound)) },
		withheld: func(d *Draft, f *Fault) {
			ref := resource.Ref{Kind: d.Entry.Kind, Name: d.Entry.Name}
			at := known[d.Ref]
			if at == nil {
				at = []string{d.Location}
			}
			for _, location := range at {
				withheld = append(withheld, resource.Withheld{Ref: ref, Location: location, Why: f.Reason + ": " + f.Message})
			}
		},
	})
	return items, withheld, problems
}

// locations returns where refused resources may manage something, as far as their fragments tell: also below their paths.
func locations(in Input) map[v1alpha1.ResourceRef][]string {
	all, by := map[v1alpha1.ResourceRef][]string{}, binder{kinds: in.Kinds}
	for _, r := range in.Fragments {
		at := by.location(r)
		if path.IsAbs(at) {
			at = resource.TreeLocation(at)
		}
		all[v1alpha1.RefOf(r)] = append(all[v1alpha1.RefOf(r)], at)
	}
	for ref := range in.Refused {
		if all[ref] == nil {
			all[ref] = []string{""}
		}
	}
	return all
}

// A visitor has functions that are called for each resource of the node.
type visitor struct {
	entry    func(v1alpha1.CatalogEntry, resource.Resource) // without a problem
	withheld func(*Draft, *Fault)
}

// DisplayItems returns all resources of the input with their edges, even with problems and whatever they select:
// for display, not to be applied.
func DisplayItems(in Input) []resource.Item {
	drafts := new(Compiler).draftLocally(in, true).Drafts
	items := make([]resource.Item, 0, len(drafts))
	for _, d := range drafts {
		items = append(items, catalog.Item(d.Entry, d.Bound))
	}
	return items
}

// local calls a visitor for the resources of the node.
func local(in Input, bindOnly bool, each visitor) []Problem {
	c := &Compiler{}
	revision := c.draftLocally(in, bindOnly)
	nodes := c.Nodes(append(slices.Clip(in.Nodes), Node{})[:1]).nodes
	nodes[0].matchesAll = nodes[0].Labels == nil
	nodes[0].Placement.Eligible = true
	acting := place(nodes, &meter{}, revision)
	maps.DeleteFunc(acting.byRef, func(_ v1alpha1.ResourceRef, is actor) bool {
		return is.unplaced != nil && is.unplaced.Reason == v1alpha1.ReasonNoNodesSelected
	})
	a := newAssigner(revision, nodes, acting, nil, &meter{})
	n := a.nodes[0]
	a.assign(n)
	for i, d := range n.group.members {
		if f := n.group.fault(n, i); f != nil {
			each.withheld(d, f)
			continue
		}
		made := cmp.Or(n.own[d], &d.rendering)
		each.entry(made.Entry, made.Bound)
	}
	return a.findings(nil).Problems(nil)
}

func (c *Compiler) draftLocally(in Input, bindOnly bool) *Revision {
	all := append(slices.Clip(in.Resources), placeholders(in)...)
	by := drafter{binder: binder{kinds: in.Kinds, bindOnly: bindOnly}, Input: in, Env: &c.env}
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
