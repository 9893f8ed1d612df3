package resource

import (
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Suitability is whether a provider can work on a host.
type Suitability struct {
	Provider    string
	Features    []Feature
	Err         error // why it can't; nil if it can
	Specificity int   // > 0: a default provider of such hosts
	Chosen      bool  // what a resource that names no provider gets
}

func (k kind[A]) Suitability(facts Facts, h host.Reader) []Suitability {
	out := make([]Suitability, 0, len(k.t.Providers))
	best := -1
	for i, p := range k.t.Providers {
		s := Suitability{Provider: p.Name(), Features: featuresOf(p), Err: p.Suits(facts, h), Specificity: specificity(p, facts)}
		if s.Err == nil && (best < 0 || s.Specificity > out[best].Specificity) {
			best = i
		}
		out = append(out, s)
	}
	if best >= 0 {
		out[best].Chosen = true
	}
	return out
}

func specificity(p any, facts Facts) int {
	if d, ok := p.(Defaulter); ok {
		return d.Default(facts)
	}
	return 0
}

// choose finds the named provider or the default one.
func (t *Type[A]) choose(facts Facts, h host.Reader, name string) (Provider[A], error) {
	if name != "" {
		return t.named(facts, h, name)
	}
	none := &NoProviderError{Kind: t.Name}
	for i, s := range (kind[A]{t}).Suitability(facts, h) {
		if s.Chosen {
			return t.Providers[i], nil
		}
		if s.Err != nil {
			none.Reasons = append(none.Reasons, fmt.Sprintf("%s: %v", s.Provider, s.Err))
		}
	}
	return nil, none
}

func (t *Type[A]) named(facts Facts, h host.Reader, name string) (Provider[A], error) {
	var names []string
	for _, p := range t.Providers {
		if p.Name() != name {
			names = append(names, p.Name())
			continue
		}
		if err := p.Suits(facts, h); err != nil {
			return nil, &NoProviderError{Kind: t.Name, Reasons: []string{fmt.Sprintf("%s: %v", name, err)}}
		}
		return p, nil
	}
	return nil, fmt.Errorf("provider %q is not one of kind %s, which has %v", name, t.Name, names)
}
