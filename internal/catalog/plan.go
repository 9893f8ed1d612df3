package catalog

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A plan is a whole input in drafts, in catalog order.
type plan struct {
	drafts  []*draft
	targets []*target
	fleet   map[v1alpha1.ResourceRef]*draft
	surveys map[string]*survey
}

// newPlan keeps the order of resources. With more than one worker what drafts are made
// with must be safe for concurrent use.
func newPlan(resources []v1alpha1.Resource, by drafting, workers int) *plan {
	env := sync.OnceValues(whenEnvironment)
	p := &plan{fleet: map[v1alpha1.ResourceRef]*draft{}, surveys: map[string]*survey{}}
	targets := map[string]*target{}
	for i, d := range drafted(resources, by, workers) {
		r := resources[i]
		if twin := p.fleet[d.ref]; twin != nil {
			twin.fault = faultf(v1alpha1.ReasonConflict, "%s is given more than once: give each its own metadata.name", d.ref)
			continue
		}
		key := targetKey(r.GetTargeting())
		if targets[key] == nil {
			targets[key] = newTarget(r.GetTargeting(), env)
			p.targets = append(p.targets, targets[key])
		}
		p.add(d, targets[key])
	}
	return p
}

func drafted(resources []v1alpha1.Resource, by drafting, workers int) []*draft {
	drafts := make([]*draft, len(resources))
	resource.Each(len(resources), workers, func(i int) { drafts[i] = by.draft(resources[i]) })
	return drafts
}

func (p *plan) add(d *draft, t *target) {
	if t.fault != nil {
		d.fault = t.fault
	}
	t.drafts = append(t.drafts, len(p.drafts))
	d.target = t
	p.drafts = append(p.drafts, d)
	p.fleet[d.ref] = d
}

// A share is what falls to one node.
type share struct {
	node    *Node
	targets []*target
	members []int              // drafts, in catalog order
	faults  map[int]*fault     // by draft: what keeps it from this node, before any survey
	own     map[int]*rendering // by draft
	survey  *survey
}

// divide works out a node's share.
func (p *plan) divide(n *Node, applies func(*target, *Node) (bool, *fault)) *share {
	s := &share{node: n, faults: map[int]*fault{}, own: map[int]*rendering{}}
	var signature strings.Builder
	for i, t := range p.targets {
		ok, f := applies(t, n)
		if !ok {
			continue
		}
		fmt.Fprintf(&signature, "%d,", i)
		s.targets = append(s.targets, t)
		s.members = append(s.members, t.drafts...)
		for _, d := range t.drafts {
			if f != nil {
				s.faults[d] = f
			}
		}
	}
	slices.Sort(s.members)
	p.render(s)
	for _, d := range s.members {
		if f := s.faults[d]; f != nil {
			fmt.Fprintf(&signature, "%d:%s,", d, f.reason)
		}
	}
	s.survey = p.survey(signature.String(), s)
	return s
}

// render makes the entries that are the node's own, as many as there is room for.
func (p *plan) render(s *share) {
	room := maxCatalog
	for _, i := range s.members {
		d := p.drafts[i]
		if d.fault != nil {
			s.faults[i] = d.fault
		}
		if s.faults[i] != nil || d.own == nil {
			continue
		}
		r := d.own.render(s.node)
		switch {
		case r.fault != nil:
			s.faults[i] = r.fault
		case r.size > room:
			s.faults[i] = faultf(v1alpha1.ReasonTooLarge,
				"what is rendered for node %s takes more than %d KiB in all: render less, or let nodes share it", s.node.Name, maxCatalog>>10)
		default:
			room -= r.size
			s.own[i] = r
		}
	}
}

func (p *plan) survey(signature string, s *share) *survey {
	if found := p.surveys[signature]; found != nil {
		return found
	}
	drafts := make([]*draft, len(s.members))
	blocked := map[int]string{}
	for position, i := range s.members {
		drafts[position] = p.drafts[i]
		if f := s.faults[i]; f != nil {
			blocked[position] = f.reason
		}
	}
	p.surveys[signature] = newSurvey(drafts, blocked, p.fleet)
	return p.surveys[signature]
}

// fault is why the member at a position waits; nil if it does not.
func (s *share) fault(position int) *fault {
	if f := s.faults[s.members[position]]; f != nil {
		return f
	}
	if found := s.survey.faults[position]; len(found) > 0 {
		return found[0]
	}
	return nil
}

// entry is a member's entry on this node, bound to its type, and its hash.
func (p *plan) entry(s *share, draft int) (v1alpha1.CatalogEntry, resource.Resource, string) {
	if r := s.own[draft]; r != nil {
		return r.entry, r.bound, r.hash
	}
	d := p.drafts[draft]
	return d.entry, d.bound, d.hash
}
