package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A share is what falls to one node. It is not changed once it is made.
type share struct {
	node     Node
	verdicts map[*selection]verdict
	targets  []*target // that select the node
	blocked  map[*draft]*fault
	own      map[*draft]*rendering
	class    *class      // nil until it is known
	result   *NodeResult // of the class and what is own
}

// divide works out a node's share; was is the last one, or nil. It is the last one where
// nothing has changed for the node.
func (p *plan) divide(n *subject, was *share) *share {
	if was != nil && !was.node.same(&n.Node) {
		was = nil
	}
	s := &share{node: n.Node}
	if was != nil && p.steady {
		s.verdicts, s.targets = was.verdicts, p.replace(was.targets)
	} else {
		p.selectFor(s, n, was)
	}
	if was != nil && len(s.verdicts) == len(was.verdicts) && slices.Equal(s.targets, was.targets) {
		return was
	}
	p.render(s, n, was)
	if was != nil && s.sameOwn(was) {
		s.class, s.result = was.class, was.result
	}
	return s
}

// replace returns targets as they are now; itself, where they are as they were.
func (p *plan) replace(targets []*target) []*target {
	var now []*target
	for i, t := range targets {
		if other := p.replaced[t]; other != nil {
			if now == nil {
				now = slices.Clone(targets)
			}
			now[i] = other
		}
	}
	if now == nil {
		return targets
	}
	return now
}

// selectFor finds the targets of a node; what was decided about it is still so.
func (p *plan) selectFor(s *share, n *subject, was *share) {
	s.verdicts = make(map[*selection]verdict, len(p.targets))
	for _, t := range p.targets {
		v, known := was.verdict(t.selection)
		if !known && p.nodes.matches(t.selection, n) {
			v = t.allows(n)
		}
		s.verdicts[t.selection] = v
		if v.selected {
			s.targets = append(s.targets, t)
		}
	}
}

func (s *share) verdict(of *selection) (verdict, bool) {
	if s == nil {
		return verdict{}, false
	}
	v, known := s.verdicts[of]
	return v, known
}

// render makes the entries that are the node's own, as many as there is room for, and finds
// what is blocked on this node. What was rendered for it before is still right.
func (p *plan) render(s *share, n *subject, was *share) {
	s.blocked, s.own = map[*draft]*fault{}, map[*draft]*rendering{}
	left := newRoom(n.Name)
	for _, d := range p.ownOrBlocked(s) {
		if f := s.verdicts[p.target[d].selection].fault; f != nil {
			s.blocked[d] = f
			continue
		}
		r := was.rendered(d)
		if r == nil {
			r = d.own.render(n)
		}
		f := r.fault
		if f == nil {
			f = left.take(d.ref, r.size)
		}
		if f != nil {
			s.blocked[d] = f
		} else {
			s.own[d] = r
		}
	}
}

// ownOrBlocked are the drafts, in catalog order, that may be otherwise on this node than on
// others of its targets. What is at fault everywhere is not.
func (p *plan) ownOrBlocked(s *share) []*draft {
	var all []*draft
	for _, t := range s.targets {
		blocked := s.verdicts[t.selection].fault != nil
		for _, d := range t.drafts {
			if d.fault == nil && (blocked || d.own != nil) {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, func(a, b *draft) int { return cmp.Compare(p.place[a], p.place[b]) })
	return all
}

func (s *share) rendered(d *draft) *rendering {
	if s == nil {
		return nil
	}
	return s.own[d]
}

// sameOwn reports whether two shares have the same of what is the node's alone.
func (s *share) sameOwn(o *share) bool {
	return maps.Equal(s.own, o.own) && maps.Equal(s.blocked, o.blocked)
}

// classKey is the same for nodes with the same targets and, of these, the same blocked.
func (s *share) classKey() string {
	var key strings.Builder
	for _, t := range s.targets {
		fmt.Fprintf(&key, "%d,", t.serial)
	}
	var blocked []string
	for d, f := range s.blocked {
		blocked = append(blocked, string(d.ref)+":"+f.reason)
	}
	slices.Sort(blocked)
	key.WriteString(strings.Join(blocked, ","))
	return key.String()
}

// fault is why the member at a position of its class waits; nil if it does not.
func (s *share) fault(c *class, position int) *fault {
	d := c.members[position]
	if d.fault != nil {
		return d.fault
	}
	if f := s.blocked[d]; f != nil {
		return f
	}
	if found := c.survey.faults[position]; len(found) > 0 {
		return found[0]
	}
	return nil
}

// entry is a draft's entry on this node, bound to its type.
func (s *share) entry(d *draft) (v1alpha1.CatalogEntry, resource.Resource) {
	if r := s.own[d]; r != nil {
		return r.entry, r.bound
	}
	return d.entry, d.bound
}
