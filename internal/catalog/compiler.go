package catalog

import (
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Compiler compiles a fleet again and again. It is given all of it each time and
// compares: a resource of the same UID and generation, a node with the same labels,
// annotations, FactsKey and PublicKey, keep what was made of them. What it returns is what [Compile]
// does, whatever came before. The zero value is ready; it is not safe for concurrent use.
type Compiler struct {
	kinds  []resource.Kind
	serial int
	env    expression.Environment
	was    memory
	is     memory // what is used by the compilation under way
}

// memory is what one compilation leaves to the next.
type memory struct {
	drafts     map[v1alpha1.ResourceRef]*draft
	selections map[string]*selection
	// replaced are the selections in place of those that take too long.
	replaced map[string]*selection
	targets  map[string]*target
	classes  map[string]*class
	shares   map[string]*share
	// selected are the names of nodes by what selects them.
	selected map[*selection][]string
}

// effective is the selection of a key, or the one in its place.
func (m memory) effective(key string) *selection {
	if s := m.replaced[key]; s != nil {
		return s
	}
	return m.selections[key]
}

// begin forgets all where kinds are others than the last time.
func (c *Compiler) begin(kinds []resource.Kind) {
	if !slices.Equal(c.kinds, kinds) {
		c.was = memory{}
	}
	c.kinds = kinds
	c.is = memory{
		drafts:     make(map[v1alpha1.ResourceRef]*draft, len(c.was.drafts)),
		selections: make(map[string]*selection, len(c.was.selections)),
		targets:    make(map[string]*target, len(c.was.targets)),
		classes:    make(map[string]*class, len(c.was.classes)),
		shares:     make(map[string]*share, len(c.was.shares)),
	}
}

// end keeps what was used, and nothing else.
func (c *Compiler) end() { c.was, c.is = c.is, memory{} }

// draft returns the draft of a resource, the last one where that would be the same again.
// It reads what the compiler remembers and remembers nothing.
func (c *Compiler) draft(r v1alpha1.Resource, by drafting) *draft {
	d := c.was.drafts[v1alpha1.RefOf(r)]
	if d == nil || !sameResource(d.from, r) || !sameValues(d.read, by.configMap) || !sameSecrets(d.asked, by.secret) {
		return by.draft(r)
	}
	return d
}

// sameResource reports whether two have one spec for certain.
func sameResource(a, b v1alpha1.Resource) bool {
	return a == b || a.GetUID() != "" && a.GetUID() == b.GetUID() && a.GetGeneration() == b.GetGeneration()
}

func (c *Compiler) selection(key string, t *v1alpha1.Targeting) *selection {
	s := c.is.selections[key]
	if s == nil {
		s = c.was.selections[key]
	}
	if s == nil {
		s = newSelection(t, &c.env)
	}
	c.is.selections[key] = s
	return s
}

func (c *Compiler) target(key string, s *selection, drafts []*draft) *target {
	t := c.was.targets[key]
	if t == nil || t.selection != s || !slices.Equal(t.drafts, drafts) {
		c.serial++
		t = &target{selection: s, serial: c.serial, drafts: drafts}
	}
	c.is.targets[key] = t
	return t
}

// compare notes what of a plan is another than the last time.
func (c *Compiler) compare(p *plan) {
	p.steady = maps.Equal(c.is.selections, c.was.selections) && maps.Equal(c.is.replaced, c.was.replaced)
	p.replaced = map[*target]*target{}
	for key, t := range c.is.targets {
		if was := c.was.targets[key]; was != nil && was != t {
			p.replaced[was] = t
		}
	}
}

// share works out what falls to a node, and what that comes to.
func (c *Compiler) share(p *plan, n *subject) *share {
	was := c.was.shares[n.Name]
	s := p.divide(n, was)
	key := ""
	if s == was {
		key = was.class.key
	} else {
		key = s.classKey()
	}
	if class := c.class(key, p, s); class != s.class {
		again := *s
		again.class, again.result = class, class.resultOf(s)
		s = &again
	}
	c.is.shares[n.Name] = s
	return s
}

// class is the one of a key, made for a share that belongs to it.
func (c *Compiler) class(key string, p *plan, s *share) *class {
	if known := c.is.classes[key]; known != nil {
		return known
	}
	known := c.was.classes[key]
	if known == nil || !known.current(p) {
		known = newClass(key, p, s)
	}
	c.is.classes[key] = known
	return known
}
