package bound

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

func (k kind[A]) Instances(ctx context.Context, facts resource.Facts, h resource.Reader, provider string) ([]resource.Instance, error) {
	providers, err := listing(k.t, facts, h, provider)
	if err != nil {
		return nil, err
	}
	all := []resource.Instance{}
	var partial error
	for _, p := range providers {
		found, err := list(k.t, ctx, h, p)
		if err != nil && !isPartial(err) {
			return nil, err
		}
		all, partial = append(all, found...), errors.Join(partial, err)
	}
	slices.SortStableFunc(all, func(a, b resource.Instance) int { return strings.Compare(a.CanonicalName, b.CanonicalName) })
	all = slices.CompactFunc(all, func(a, b resource.Instance) bool {
		return a.CanonicalName == b.CanonicalName && a.Provider != b.Provider
	})
	slices.SortStableFunc(all, func(a, b resource.Instance) int { return strings.Compare(a.Namevar, b.Namevar) })
	return all, partial
}

func isPartial(err error) bool {
	_, partial := errors.AsType[*resource.PartialListError](err)
	return partial
}

// listing returns the providers that list: the named one, or the default and then the others, one
// per source.
func listing[A any](t *resource.Type[A], facts resource.Facts, h host.Reader, name string) ([]resource.Provider[A], error) {
	first, err := choose(t, facts, h, name)
	if err != nil {
		return nil, err
	}
	all := []resource.Provider[A]{first}
	if name == "" {
		all = append(all, others(t, facts, h, first)...)
	}
	sources := map[string]bool{}
	all = slices.DeleteFunc(all, func(p resource.Provider[A]) bool {
		_, lists := p.(resource.Lister[A])
		seen := sources[sourceOf(p)]
		sources[sourceOf(p)] = seen || lists
		return !lists || seen
	})
	if len(all) == 0 {
		return nil, &resource.NoListerError{Kind: t.Name, Provider: first.Name()}
	}
	return all, nil
}

// others returns the suitable providers other than the default.
func others[A any](t *resource.Type[A], facts resource.Facts, h host.Reader, first resource.Provider[A]) []resource.Provider[A] {
	var all []resource.Provider[A]
	for _, p := range t.Providers {
		if p.Name() != first.Name() && suits(p, facts, h) == nil {
			all = append(all, p)
		}
	}
	return all
}

func list[A any](t *resource.Type[A], ctx context.Context, h resource.Reader, p resource.Provider[A]) ([]resource.Instance, error) {
	list, failed := p.(resource.Lister[A]).List(ctx, h)
	if failed != nil {
		failed = fmt.Errorf("cannot list %s by provider %s: %w", t.Name, p.Name(), failed)
	}
	if failed != nil && !isPartial(failed) {
		return nil, failed
	}
	out := make([]resource.Instance, 0, len(list))
	for _, a := range list {
		normalize(t, &a)
		i, err := instance(t, a, p.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, failed
}

// sourceOf returns the source of a provider's instances: its own name by default.
func sourceOf[A any](p resource.Provider[A]) string {
	if s, ok := p.(resource.Sourced); ok {
		return cmp.Or(s.Source(), p.Name())
	}
	return p.Name()
}

func instance[A any](t *resource.Type[A], a A, provider string) (resource.Instance, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return resource.Instance{}, fmt.Errorf("cannot encode %s: %w", t.Name, err)
	}
	name, _ := canonicalName(t, &a)
	return resource.Instance{
		Namevar: *t.Namevar(&a), CanonicalName: name, Provider: provider, Exists: exists(t, a), Attributes: raw, Lossy: lossy(raw),
	}, nil
}

// lossy reports whether JSON was encoded from text that is not UTF-8. The encoder then writes the
// replacement character as an escape, but a real one literally.
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
