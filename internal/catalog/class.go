package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A class is all that nodes have in common that the same targets select and on which
// the same is blocked. It is not changed once it is made, but for what it makes late.
type class struct {
	key     string
	targets []*target
	members []*draft // in catalog order
	survey  *survey
	shared  *hashes
	alone   *NodeResult // of nodes with nothing of their own; nil until there is one
}

func newClass(key string, p *plan, s *share) *class {
	c := &class{key: key, targets: s.targets}
	for _, t := range s.targets {
		c.members = append(c.members, t.drafts...)
	}
	slices.SortFunc(c.members, func(a, b *draft) int { return cmp.Compare(p.place[a], p.place[b]) })
	blocked := map[int]string{}
	for position, d := range c.members {
		if f := cmp.Or(d.fault, s.blocked[d]); f != nil {
			blocked[position] = f.reason
		}
	}
	c.survey = newSurvey(c.members, blocked, p.fleet)
	c.shared = c.survey.applied()
	return c
}

// current reports whether the class would be made the same again: its messages tell a
// resource that is elsewhere in the fleet from one that is nowhere.
func (c *class) current(p *plan) bool {
	for ref, existed := range c.survey.absent {
		if p.fleet[ref] != existed {
			return false
		}
	}
	return true
}

// maxWithheldMessage, in bytes, keeps thousands of them within one object. The resource's
// own status has room for more.
const maxWithheldMessage = 256

// someWithheld are so few that there is always room for what is said of them.
const someWithheld = 256

// resultOf is what a node of the class should be.
func (c *class) resultOf(s *share) *NodeResult {
	if len(s.own)+len(s.blocked) > 0 {
		return c.make(s)
	}
	if c.alone == nil {
		c.alone = c.make(s)
	}
	return c.alone
}

func (c *class) make(s *share) *NodeResult {
	r := &NodeResult{shared: c.shared}
	for _, t := range c.targets {
		r.Spec.Catalogs = append(r.Spec.Catalogs, t.pack()...)
	}
	slices.SortFunc(r.Spec.Catalogs, func(a, b v1alpha1.CatalogRef) int { return strings.Compare(a.Name, b.Name) })
	r.own = make(map[v1alpha1.ResourceRef]string, len(s.own))
	var own []string
	for position, d := range c.members {
		if f := s.fault(c, position); f != nil {
			r.Spec.Withheld = append(r.Spec.Withheld, v1alpha1.Withheld{Ref: d.ref, Reason: f.reason, Message: capped(f.message, maxWithheldMessage)})
		} else if made := s.own[d]; made != nil {
			r.Spec.Entries = append(r.Spec.Entries, made.entry)
			own = append(own, made.hash)
			r.own[d.ref] = made.hash
		}
	}
	r.Digest = digest(r.Spec, own)
	if len(r.Spec.Withheld) > someWithheld {
		fitMessages(&r.Spec)
	}
	return r
}
