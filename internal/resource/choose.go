package resource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Suitability is whether a provider can work on a host.
type Suitability struct {
	Provider    string
	Features    []Feature
	Needs       Needs
	Defaults    Defaults
	Err         error    // why it can't; nil if it can
	Specificity int      // > 0: a default provider of such hosts
	Chosen      bool     // what a resource that names no provider gets
	Tied        []string // of the chosen one: others for which as many facts speak
}

// Explain says in a sentence whether a provider works on the host it was looked for on, and
// why not, for a log.
func (s Suitability) Explain(kind string) string {
	text := kind + ": provider " + s.Provider
	switch {
	case s.Err != nil:
		return text + " does not work on this host: " + s.Err.Error()
	case s.Chosen && len(s.Tied) > 0:
		return text + " is this host's default, though as many facts speak for " + strings.Join(s.Tied, ", ")
	case s.Chosen:
		return text + " is this host's default"
	}
	return text + " works on this host"
}

func (k kind[A]) Suitability(facts Facts, h host.Reader) []Suitability {
	out := make([]Suitability, 0, len(k.t.Providers))
	for _, p := range k.t.Providers {
		d := defaultsOf(p)
		out = append(out, Suitability{
			Provider: p.Name(), Features: featuresOn(p, facts), Needs: needsOf(p), Defaults: d,
			Err: suits(p, facts, h), Specificity: d.specificity(facts),
		})
	}
	if i := best(out); i >= 0 {
		out[i].Chosen, out[i].Tied = true, tied(out, i)
	}
	return out
}

// Chosen is the provider that a resource of the kind gets which names none; "" if none suits.
func Chosen(k Kind, facts Facts, h host.Reader) string {
	for _, s := range k.Suitability(facts, h) {
		if s.Chosen {
			return s.Provider
		}
	}
	return ""
}

// best is the place of the suitable provider that is the default of most right, the
// first of several; -1 if none suits.
func best(all []Suitability) int {
	at := -1
	for i, s := range all {
		if s.Err == nil && (at < 0 || s.Specificity > all[at].Specificity) {
			at = i
		}
	}
	return at
}

// tied are the others that would have as good a right. Where none is a default the
// type's order decides, which is nobody's mistake.
func tied(all []Suitability, chosen int) []string {
	var names []string
	for i, s := range all {
		if i != chosen && s.Err == nil && s.Specificity > 0 && s.Specificity == all[chosen].Specificity {
			names = append(names, s.Provider)
		}
	}
	return names
}

func suits[A any](p Provider[A], facts Facts, h host.Reader) error {
	if err := needsOf(p).Unmet(facts, h); err != nil {
		return err
	}
	return p.Suits(facts, h)
}

func needsOf(p any) Needs {
	if n, ok := p.(Needing); ok {
		return n.Needs()
	}
	return Needs{}
}

func defaultsOf(p any) Defaults {
	if d, ok := p.(Defaulter); ok {
		return d.Defaults()
	}
	return Defaults{}
}

// choose finds the named provider or the default one.
func (t *Type[A]) choose(facts Facts, h host.Reader, name string) (Provider[A], error) {
	if name != "" {
		return t.named(facts, h, name)
	}
	none := &NoProviderError{Kind: t.Name, Final: true}
	for i, s := range (kind[A]{t}).Suitability(facts, h) {
		if s.Chosen {
			return t.Providers[i], nil
		}
		if s.Err != nil {
			none.Reasons = append(none.Reasons, fmt.Sprintf("%s: %v", s.Provider, s.Err))
			none.Final = none.Final && !s.Needs.Facts.Holds(facts)
		}
	}
	return nil, none
}

func (t *Type[A]) named(facts Facts, h host.Reader, name string) (Provider[A], error) {
	if err := t.checkProvider(name); err != nil {
		return nil, err
	}
	p := t.Providers[slices.Index(t.providerNames(), name)]
	if err := suits(p, facts, h); err != nil {
		return nil, &NoProviderError{
			Kind: t.Name, Reasons: []string{fmt.Sprintf("%s: %v", name, err)}, Final: !needsOf(p).Facts.Holds(facts),
		}
	}
	return p, nil
}

func (k kind[A]) CheckProvider(name string) error {
	if name == "" {
		return nil
	}
	return k.t.checkProvider(name)
}

func (t *Type[A]) checkProvider(name string) error {
	if slices.Contains(t.providerNames(), name) {
		return nil
	}
	return fmt.Errorf("provider %q is not one of kind %s, which has %v", name, t.Name, t.providerNames())
}

func (t *Type[A]) providerNames() []string {
	names := make([]string, len(t.Providers))
	for i, p := range t.Providers {
		names[i] = p.Name()
	}
	return names
}
