package catalog

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
)

// What evaluations may take, on all nodes together, in the units of expression.Cost: for one resource a second and
// for a whole compilation ten, part of it for when and part for templates.
const (
	maxWhenTime      = 100_000_000
	maxTemplateTime  = 900_000_000
	maxWhensTime     = 5_000_000_000
	maxTemplatesTime = 5_000_000_000
)

// An affordable takes time on nodes, and can go on until a limit.
type affordable interface {
	advance(limit int) bool
	spent() int
}

// afford divides time among evaluations: each may take some, and all together a total. Each has at least its equal part
// of half the total, and the other half is divided among those that this does not suffice. So one that takes too long
// takes from no other. It returns the positions of those that do, and depends on no order.
func afford(all []affordable, each, total int) map[int]bool {
	todo := map[int]bool{}
	for i := range all {
		todo[i] = true
	}
	limit, left := 0, total
	for _, part := range []int{2, 1} {
		if len(todo) == 0 {
			break
		}
		more := min(each-limit, left/part/len(todo))
		limit += more
		for i, e := range all {
			if !todo[i] {
				continue
			}
			if e.advance(limit) {
				delete(todo, i)
				left -= e.spent() - (limit - more)
			} else {
				left -= more
			}
		}
	}
	return todo
}

// nodes are those of one compilation.
type nodes struct {
	all     []*subject
	changed []*subject // another than in the compilation before, or new
	gone    []string   // since then
	matches func(*selection, *subject) bool
}

func (c *Compiler) nodesOf(all []*subject, matches func(*selection, *subject) bool) nodes {
	ns := nodes{all: all, matches: matches}
	is := make(map[string]bool, len(all))
	for _, n := range all {
		is[n.Name] = true
		if was := c.was.shares[n.Name]; was == nil || !was.node.same(&n.Node) {
			ns.changed = append(ns.changed, n)
		}
	}
	for name := range c.was.shares {
		if !is[name] {
			ns.gone = append(ns.gone, name)
		}
	}
	return ns
}

// refresh has evaluations look at the nodes that they are of: all of them where they are not complete.
func refresh[R any](e *evaluations[R], complete bool, ns nodes, of func(*subject) bool) {
	e.todo = nil
	for _, name := range ns.gone {
		e.drop(name)
	}
	for _, n := range ns.changed {
		e.drop(n.Name)
	}
	among := ns.changed
	if !complete {
		among = ns.all
	}
	for _, n := range among {
		switch {
		case !of(n):
			e.drop(n.Name)
		case e.byNode[n.Name] == nil:
			e.todo = append(e.todo, n)
		}
	}
}

// affordWhens evaluates all conditions on all nodes, and returns selections in place of those that take too long.
func (c *Compiler) affordWhens(ns nodes) map[string]*selection {
	var keys []string
	var all []affordable
	for key, s := range c.is.selections {
		if s.when == nil || s.fault != nil {
			continue
		}
		refresh(s.results, s.complete, ns, func(n *subject) bool { return ns.matches(s, n) && s.readable(n) })
		keys, all = append(keys, key), append(all, s.results)
	}
	over := afford(all, maxWhenTime, maxWhensTime)
	replaced := map[string]*selection{}
	for i, key := range keys {
		s := c.is.selections[key]
		if s.complete = !over[i]; over[i] {
			replaced[key] = s.overLimit()
		}
	}
	return replaced
}

// overLimit is the selection of a when that takes too long: of all nodes that its selector selects, which wait.
func (s *selection) overLimit() *selection {
	if s.over == nil {
		s.over = &selection{text: s.text, selector: s.selector, fault: faultf(v1alpha1.ReasonInvalidWhen,
			"when %q takes more than %d ms on all nodes together, or more than its part of the %d s for all resources: read fewer facts that differ from node to node, or select by labels",
			capped(s.text, maxWhenTold), maxWhenTime/1_000_000, maxWhensTime/1_000_000_000)}
	}
	return s.over
}

// affordTemplates evaluates all templates on the nodes that they are for. Drafts whose templates take too long fail.
func (c *Compiler) affordTemplates(drafts []*draft, ns nodes) []*draft {
	var places []int
	var all []affordable
	for i, d := range drafts {
		if d.own == nil || d.own.template == nil {
			continue
		}
		s, o := c.is.effective(d.targetKey), d.own
		if d.fault != nil { // also where s has one
			o.complete = nil
			o.results.forget()
			continue
		}
		refresh(o.results, o.complete == s, ns, func(n *subject) bool {
			return o.readable(n) && ns.matches(s, n) && s.allows(n) == verdict{selected: true}
		})
		places, all = append(places, i), append(all, o.results)
	}
	over := afford(all, maxTemplateTime, maxTemplatesTime)
	for i, place := range places {
		d := drafts[place]
		if d.own.complete = c.is.effective(d.targetKey); over[i] {
			d.own.complete = nil
			drafts[place] = d.withheld(overTemplateLimit())
		}
	}
	return drafts
}

func overTemplateLimit() *fault {
	return faultf(v1alpha1.ReasonInvalidTemplate,
		"contentTemplate takes more than %d ms on all nodes together, or more than its part of the %d s for all resources: read fewer facts that differ from node to node, or make less of them",
		maxTemplateTime/1_000_000, maxTemplatesTime/1_000_000_000)
}

// A truth is what a when gives on a node, or why it gives nothing.
type truth struct {
	holds bool
	err   error
}

func truthsOf(c *expression.Condition) *evaluations[truth] {
	return &evaluations[truth]{uses: c.Uses(), run: func(n *subject, time int) (truth, int, error) {
		holds, cost, err := c.Holds(n.variables(), time)
		if isCutOff(err) {
			return truth{}, cost.Time, err
		}
		return truth{holds, err}, cost.Time, nil
	}}
}
