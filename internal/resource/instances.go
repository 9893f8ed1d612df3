package resource

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// A NoListerError says that a provider can't list what exists.
type NoListerError struct{ Kind, Provider string }

// Error names the provider and the way out.
func (e *NoListerError) Error() string {
	return fmt.Sprintf("cannot list all of kind %s: provider %s can't; give a name", e.Kind, e.Provider)
}

func (k kind[A]) Instances(ctx context.Context, facts Facts, h Reader, provider string) ([]Instance, error) {
	providers, err := k.t.listing(facts, h, provider)
	if err != nil {
		return nil, err
	}
	all := []Instance{}
	for _, p := range providers {
		found, err := k.t.list(ctx, h, p)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b Instance) int { return strings.Compare(a.Namevar, b.Namevar) })
	return slices.CompactFunc(all, func(a, b Instance) bool { return a.Namevar == b.Namevar && a.Provider != b.Provider }), nil
}

// listing are the providers to list by: the one that is named, or the default and then
// the others, one of each source.
func (t *Type[A]) listing(facts Facts, h host.Reader, name string) ([]Provider[A], error) {
	first, err := t.choose(facts, h, name)
	if err != nil {
		return nil, err
	}
	all := []Provider[A]{first}
	if name == "" {
		all = append(all, t.others(facts, h, first)...)
	}
	sources := map[string]bool{}
	all = slices.DeleteFunc(all, func(p Provider[A]) bool {
		_, lists := p.(Lister[A])
		seen := sources[sourceOf(p)]
		sources[sourceOf(p)] = seen || lists
		return !lists || seen
	})
	if len(all) == 0 {
		return nil, &NoListerError{t.Name, first.Name()}
	}
	return all, nil
}

// others are the suitable providers beside the default.
func (t *Type[A]) others(facts Facts, h host.Reader, first Provider[A]) []Provider[A] {
	var all []Provider[A]
	for _, p := range t.Providers {
		if p.Name() != first.Name() && suits(p, facts, h) == nil {
			all = append(all, p)
		}
	}
	return all
}

func (t *Type[A]) list(ctx context.Context, h Reader, p Provider[A]) ([]Instance, error) {
	list, err := p.(Lister[A]).List(ctx, h)
	if err != nil {
		return nil, fmt.Errorf("cannot list %s by provider %s: %w", t.Name, p.Name(), err)
	}
	out := make([]Instance, 0, len(list))
	for _, a := range list {
		t.normalize(&a)
		i, err := t.instance(a, p.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, nil
}

// sourceOf is where a provider's instances come from: its own name, unless it says else.
func sourceOf[A any](p Provider[A]) string {
	if s, ok := p.(Sourced); ok {
		return cmp.Or(s.Source(), p.Name())
	}
	return p.Name()
}

func (t *Type[A]) instance(a A, provider string) (Instance, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return Instance{}, fmt.Errorf("cannot encode %s: %w", t.Name, err)
	}
	return Instance{Namevar: *t.Namevar(&a), Provider: provider, Exists: t.exists(a), Attributes: raw, Lossy: lossy(raw)}, nil
}

// lossy reports whether JSON was made of text that is not UTF-8: its encoder then writes the
// replacement character as an escape, and a real one as it is.
func lossy(raw []byte) bool {
	for {
		_, after, found := bytes.Cut(raw, []byte{'\\'})
		if !found {
			return false
		}
		if bytes.HasPrefix(after, []byte("ufffd")) {
			return true
		}
		raw = after[1:] // JSON has a character after each backslash
	}
}
