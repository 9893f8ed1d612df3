package bound

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

func (k kind[A]) Suitability(facts resource.Facts, h host.Reader) []resource.Suitability {
	out := make([]resource.Suitability, 0, len(k.t.Providers))
	for _, p := range k.t.Providers {
		d := defaultsOf(p)
		out = append(out, resource.Suitability{
			Provider: p.Name(), Doc: docOf(p), Features: featuresOn(p, facts), Needs: needsOf(p), Defaults: d,
			Err: suits(p, facts, h), Specificity: d.Specificity(facts),
		})
	}
	if i := best(out); i >= 0 {
		out[i].Chosen, out[i].Tied = true, tied(out, i)
	}
	return out
}

// best returns the index of the suitable provider with the highest specificity, the first of
// several; -1 if none is suitable.
func best(all []resource.Suitability) int {
	at := -1
	for i, s := range all {
		if s.Err == nil && (at < 0 || s.Specificity > all[at].Specificity) {
			at = i
		}
	}
	return at
}

// tied returns the other providers with the same specificity. It is empty if no provider is a
// default, since the type's order then decides.
func tied(all []resource.Suitability, chosen int) []string {
	var names []string
	for i, s := range all {
		if i != chosen && s.Err == nil && s.Specificity > 0 && s.Specificity == all[chosen].Specificity {
			names = append(names, s.Provider)
		}
	}
	return names
}

func suits[A any](p resource.Provider[A], facts resource.Facts, h host.Reader) error {
	if err := needsOf(p).Unmet(facts, h); err != nil {
		return err
	}
	return p.Suits(facts, h)
}

// choose returns the named provider or the default one.
func choose[A any](t *resource.Type[A], facts resource.Facts, h host.Reader, name string) (resource.Provider[A], error) {
	if name != "" {
		return named(t, facts, h, name)
	}
	none := &resource.NoProviderError{Kind: t.Name, Final: true}
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

func named[A any](t *resource.Type[A], facts resource.Facts, h host.Reader, name string) (resource.Provider[A], error) {
	if err := checkProvider(t, name); err != nil {
		return nil, err
	}
	p := t.Providers[slices.Index(providerNames(t), name)]
	if err := suits(p, facts, h); err != nil {
		return nil, &resource.NoProviderError{
			Kind: t.Name, Reasons: []string{fmt.Sprintf("%s: %v", name, err)}, Final: !needsOf(p).Facts.Holds(facts),
		}
	}
	return p, nil
}

func (k kind[A]) CheckProvider(name string) error {
	if name == "" {
		return nil
	}
	return checkProvider(k.t, name)
}

func checkProvider[A any](t *resource.Type[A], name string) error {
	if slices.Contains(providerNames(t), name) {
		return nil
	}
	return fmt.Errorf("provider %q is not one of kind %s, which has %v", name, t.Name, providerNames(t))
}

func providerNames[A any](t *resource.Type[A]) []string {
	names := make([]string, len(t.Providers))
	for i, p := range t.Providers {
		names[i] = p.Name()
	}
	return names
}
