package catalog

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A plan is a whole input in drafts, in catalog order.
type plan struct {
	drafts  []*draft
	targets []*target
	place   map[*draft]int // in drafts
	target  map[*draft]*target
	fleet   map[v1alpha1.ResourceRef]bool
	// steady says that selections are those of the last time, and replaced which of their
	// targets are others now.
	steady   bool
	replaced map[*target]*target
	nodes    nodes
}

// plan keeps the order of resources. With more than one worker what drafts are made
// with must be safe for concurrent use.
func (c *Compiler) plan(resources []v1alpha1.Resource, by drafting, workers int, ns nodes) *plan {
	n := len(resources)
	p := &plan{nodes: ns, place: make(map[*draft]int, n), target: make(map[*draft]*target, n), fleet: make(map[v1alpha1.ResourceRef]bool, n)}
	p.drafts = c.affordable(c.drafted(resources, by, workers), ns)
	var keys []string
	members := map[string][]*draft{}
	for i, d := range p.drafts {
		p.place[d], p.fleet[d.ref] = i, true
		if members[d.targetKey] == nil {
			keys = append(keys, d.targetKey)
		}
		members[d.targetKey] = append(members[d.targetKey], d)
	}
	for _, key := range keys {
		t := c.target(key, c.is.effective(key), members[key])
		p.targets = append(p.targets, t)
		for _, d := range t.drafts {
			p.target[d] = t
		}
	}
	return p
}

// affordable evaluates drafts on nodes, and withholds those that take too long.
func (c *Compiler) affordable(drafts []*draft, ns nodes) []*draft {
	c.is.replaced = c.affordWhens(ns)
	for i, d := range drafts {
		if s := c.is.replaced[d.targetKey]; s != nil && d.fault == nil {
			drafts[i] = d.withheld(s.fault)
		}
	}
	return c.affordTemplates(drafts, ns)
}

// drafted are the drafts of resources, one for each ref.
func (c *Compiler) drafted(resources []v1alpha1.Resource, by drafting, workers int) []*draft {
	all := make([]*draft, len(resources))
	resource.Each(len(resources), workers, func(i int) { all[i] = c.draft(resources[i], by) })
	var drafts []*draft
	at := make(map[v1alpha1.ResourceRef]int, len(all))
	for _, d := range all {
		if i, again := at[d.ref]; again {
			drafts[i] = drafts[i].failing(faultf(v1alpha1.ReasonConflict, "%s is given more than once: give each its own metadata.name", d.ref))
			continue
		}
		at[d.ref] = len(drafts)
		c.is.drafts[d.ref] = d
		if f := c.selection(d.targetKey, d.from.GetTargeting()).fault; f != nil && d.fault != f {
			d = d.failing(f)
			c.is.drafts[d.ref] = d
		}
		drafts = append(drafts, d)
	}
	return drafts
}
