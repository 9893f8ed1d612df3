package catalog

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Local compiles for one machine without a cluster: input.Nodes[0] alone, whose nil
// Labels select everything. entries are in the order of input.Resources; what a
// problem concerns is left out of them. The node of a problem is "". input.ConfigMap and
// input.Secret must be safe for concurrent use.
func Local(input Input) (entries []v1alpha1.CatalogEntry, problems []Problem) {
	s := newLocal(input, false)
	for position, d := range s.class.members {
		if s.fault(s.class, position) == nil {
			e, _ := s.entry(d)
			entries = append(entries, e)
		}
	}
	return entries, s.problems()
}

// Prepare is Local for who applies the entries at once: they are bound to their types, as
// [Items] does. What is too large for a Catalog is not too large here.
func Prepare(input Input) (items []resource.Item, problems []Problem) {
	s := newLocal(input, true)
	items = make([]resource.Item, 0, len(s.class.members))
	for position, d := range s.class.members {
		if s.fault(s.class, position) == nil {
			e, bound := s.entry(d)
			items = append(items, itemOf(e, bound))
		}
	}
	return items, s.problems()
}

// Sketch is every resource of the input with its relations, at fault or not, and whatever
// it selects: to be looked at, not to be applied.
func Sketch(input Input) []resource.Item {
	drafts := planOnce(input, true, nil).drafts
	items := make([]resource.Item, 0, len(drafts))
	for _, d := range drafts {
		items = append(items, itemOf(d.entry, d.bound))
	}
	return items
}

// A local is the share of the one node that there is.
type local struct {
	*share
	plan *plan
}

func newLocal(input Input, applied bool) local {
	node := Node{}
	if len(input.Nodes) > 0 {
		node = input.Nodes[0]
	}
	n := &subject{Node: node}
	p := planOnce(input, applied, n)
	s := p.divide(n, nil)
	s.class = newClass("", p, s)
	return local{s, p}
}

// planOnce plans for one node, or none, in the order of the input, with nothing before and nothing after.
func planOnce(input Input, applied bool, n *subject) *plan {
	c := &Compiler{}
	c.begin(input.Kinds)
	ns := c.nodesOf(nil, (*selection).matches)
	if n != nil {
		ns = c.nodesOf([]*subject{n}, (*selection).matches)
		if n.Labels == nil {
			ns.matches = func(*selection, *subject) bool { return true }
		}
	}
	all := append(slices.Clip(input.Resources), placeholders(input.Refused)...)
	return c.plan(all, draftingOf(input, applied), runtime.GOMAXPROCS(0), ns)
}

// placeholders stand for resources of which nothing but the name is known. They select every
// node.
func placeholders(refused map[v1alpha1.ResourceRef]string) []v1alpha1.Resource {
	var all []v1alpha1.Resource
	for _, ref := range slices.Sorted(maps.Keys(refused)) {
		kind, name, _ := strings.Cut(string(ref), "/")
		if r := v1alpha1.NewResource(kind); r != nil {
			r.SetName(name)
			r.GetTargeting().NodeSelector = &metav1.LabelSelector{}
			all = append(all, r)
		}
	}
	return all
}

func (s local) problems() []Problem {
	t := &tally{classes: map[*class][]string{}}
	t.count(s.share, nil)
	return t.problems(s.plan, nil)
}
