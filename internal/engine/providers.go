package engine

import (
	"github.com/fettle-dev/fettle/internal/resource"
)

// A choice is the provider of a resource, as far as one was looked for.
type choice struct {
	in          epoch // when one was last looked for; 0 before
	err         error // why there is none
	name        string
	unsupported error // the attributes that it can't manage
	canRefresh  bool
}

// providers choose the provider of each resource: again in each epoch until there is one, since other resources may bring it.
type providers struct {
	facts  resource.Facts
	calls  *calls
	epochs *epochs
	chosen map[providerKey]chosen
}

// A providerKey is the kind of a resource and the provider that it asks for.
type providerKey struct{ kind, provider string }

// chosen is a provider that suits resources with the same key in the same epoch.
type chosen struct {
	in       epoch
	provider resource.ChosenProvider
}

// choose returns the choice for a resource, which must have a type.
func (p *providers) choose(n *node) choice {
	c := &n.choice
	if c.in > 0 && (c.err == nil || c.in == p.epochs.now) {
		return *c
	}
	c.in = p.epochs.now
	if c.err = p.bind(n); c.err == nil {
		c.name, c.unsupported, c.canRefresh = n.Resource.Provider().Name(), n.Resource.Unsupported(), n.Resource.Abilities().Refresh
	}
	return *c
}

// bind gives a resource its provider, without an effect on its turn: if there is none, it is asked again there.
func (p *providers) bind(n *node) error {
	return resource.Guarded(func() error {
		key := providerKey{n.Ref.Kind, n.Provider}
		if other, ok := p.chosen[key]; ok && other.in == p.epochs.now && n.Resource.Use(other.provider) {
			return nil
		}
		err := n.Resource.Choose(p.facts, p.calls.reader(), n.Provider)
		if err == nil {
			p.chosen[key] = chosen{p.epochs.now, n.Resource.Provider()}
		}
		return err
	})
}

// byProvider groups resources by kind and provider, in the order of the first of each.
func byProvider(nodes []*node) [][]*node {
	return groupByProvider(nodes, func(n *node) resource.Resource { return n.Resource })
}

// groupByProvider is byProvider for whatever has a resource.
func groupByProvider[T any](all []T, of func(T) resource.Resource) [][]T {
	var groups [][]T
	at := map[providerKey]int{}
	for _, one := range all {
		r := of(one)
		key := providerKey{r.Ref().Kind, r.Provider().Name()}
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], one)
	}
	return groups
}
