package bound

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// chosen is the provider of a resource, shared with others of its kind. It never changes.
type chosen[A any] struct {
	provider resource.Provider[A]
	facts    resource.Facts // that it was chosen by
}

func (b *bound[A]) Choose(facts resource.Facts, h host.Reader, name string) error {
	provider, err := choose(b.t, facts, h, name)
	b.chosen = &chosen[A]{provider, facts}
	return err
}

func (b *bound[A]) Use(other resource.ChosenProvider) bool {
	of, ok := other.(*chosen[A])
	if ok {
		b.chosen = of
	}
	return ok
}

func (b *bound[A]) Provider() resource.ChosenProvider { return b.chosen }

// provider returns the provider, nil before one was chosen.
func (b *bound[A]) provider() resource.Provider[A] {
	if b.chosen == nil {
		return nil
	}
	return b.chosen.provider
}

func (b *bound[A]) Abilities() (can resource.Abilities) {
	p := b.provider()
	_, batch := p.(resource.BatchReader[A])
	_, audits := p.(resource.Auditor[A])
	can.BatchRead = batch && (len(b.audited) == 0 || !audits)
	_, can.BatchWrite = p.(resource.BatchWriter[A])
	_, can.Precheck = p.(resource.Prechecker[A])
	_, can.PreRunCheck = p.(resource.PreRunChecker[A])
	_, can.Identify = p.(resource.Identifier[A])
	_, can.Refresh = p.(resource.Refresher[A])
	_, can.Generate = p.(resource.Generator[A])
	_, can.Resume = p.(resource.Resumer[A])
	return can
}

func (b *bound[A]) Watched(h host.Reader) []string {
	w, ok := b.provider().(resource.Watcher[A])
	if !ok {
		return nil
	}
	return w.Watch(h, b.want)
}

func (b *bound[A]) Generate(ctx context.Context, h resource.Reader, others resource.Inventory) iter.Seq2[resource.Resource, error] {
	g, ok := b.provider().(resource.Generator[A])
	if !ok {
		return func(func(resource.Resource, error) bool) {}
	}
	return g.Generate(ctx, h, b.want, others)
}

func (b *bound[A]) Unsupported() error {
	var errs []error
	for _, p := range b.t.Properties {
		if !p.Managed(b.want) {
			continue
		}
		if b.chosen.lacks(p.Feature) {
			errs = append(errs, b.chosen.unsupported(p.Name, p.Feature))
		}
		if p.ValueFeature != nil && b.chosen.lacks(p.ValueFeature(b.want)) {
			errs = append(errs, b.chosen.unsupported(fmt.Sprintf("%s %q", p.Name, p.Show(b.want)), p.ValueFeature(b.want)))
		}
	}
	for _, p := range b.used(b.chosen.lacking(b.t.Parameters)) {
		errs = append(errs, b.chosen.unsupported(p.Name, p.Feature))
	}
	return errors.Join(errs...)
}

// used returns the parameters that want sets, according to its JSON form. That is expensive, so it
// is only called for the few parameters that a provider does not support.
func (d *desired[A]) used(parameters []resource.Parameter) []resource.Parameter {
	if len(parameters) == 0 {
		return nil
	}
	set := encoded(d.want)
	if set == nil {
		return parameters
	}
	return slices.DeleteFunc(parameters, func(p resource.Parameter) bool { return set[p.Name] == nil })
}

func (c *chosen[A]) lacks(f resource.Feature) bool {
	return f != "" && !slices.Contains(featuresOn(c.provider, c.facts), f)
}

// lacking returns the parameters that need a feature that the provider lacks.
func (c *chosen[A]) lacking(all []resource.Parameter) (lacking []resource.Parameter) {
	for _, p := range all {
		if c.lacks(p.Feature) {
			lacking = append(lacking, p)
		}
	}
	return lacking
}

// unsupported is the error about an attribute, or a value of one, that needs a feature.
func (c *chosen[A]) unsupported(what string, f resource.Feature) error {
	here := ""
	if where := conditionalOf(c.provider)[f]; where != nil {
		here = " on this host (it has it only if " + where.String() + ")"
	}
	if limited, ok := c.provider.(resource.Limited); ok {
		here += ", because " + limited.Limit()
	}
	return fmt.Errorf("provider %s lacks the feature %s, which %s needs%s; leave the attribute out or choose another provider",
		c.provider.Name(), f, what, here)
}

func (c *chosen[A]) Name() string {
	if c == nil || c.provider == nil {
		return ""
	}
	return c.provider.Name()
}

func (c *chosen[A]) ReadAll(ctx context.Context, h resource.Reader, all []resource.Resource) []error {
	return c.forAll(len(all), func() []error {
		results := c.provider.(resource.BatchReader[A]).ReadAll(ctx, h, wantsOf[A](all))
		errs := make([]error, len(results))
		if len(results) == len(all) {
			for i, r := range results {
				errs[i] = all[i].(*bound[A]).record(h, r)
			}
		}
		return errs
	})
}

func (c *chosen[A]) WriteAll(ctx context.Context, h resource.Writer, all []resource.BatchItem) []error {
	return c.forAll(len(all), func() []error {
		for _, item := range all {
			b := item.Resource.(*bound[A])
			b.state.written = new(b.state.is)
		}
		return c.provider.(resource.BatchWriter[A]).WriteAll(ctx, h, writesOf[A](all))
	})
}

func (c *chosen[A]) Precheck(ctx context.Context, h resource.Reader, all []resource.BatchItem) []error {
	return c.forAll(len(all), func() []error {
		return c.provider.(resource.Prechecker[A]).Precheck(ctx, h, writesOf[A](all))
	})
}

func (c *chosen[A]) PreRunCheck(ctx context.Context, h resource.Reader, all []resource.Resource) []error {
	return c.forAll(len(all), func() []error {
		return c.provider.(resource.PreRunChecker[A]).PreRunCheck(ctx, h, wantsOf[A](all))
	})
}

func (c *chosen[A]) Identify(ctx context.Context, h resource.Reader, all []resource.Resource) (identities []string, err error) {
	err = resource.Guarded(func() error {
		identities = c.provider.(resource.Identifier[A]).Identify(ctx, h, wantsOf[A](all))
		return c.miscounted(len(identities), len(all))
	})
	return identities, err
}

// forAll returns the errors of n resources that one call of the provider handles. A panic of the provider or a
// wrong number of results is the error of all of them.
func (c *chosen[A]) forAll(n int, call func() []error) []error {
	if n == 0 {
		return nil
	}
	var errs []error
	err := resource.Guarded(func() error {
		errs = call()
		return c.miscounted(len(errs), n)
	})
	if err != nil {
		return slices.Repeat([]error{err}, n)
	}
	return errs
}

func (c *chosen[A]) miscounted(got, want int) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("provider %s returned %d results for %d resources (a bug in the provider)", c.provider.Name(), got, want)
}

func wantsOf[A any](all []resource.Resource) []A {
	wants := make([]A, len(all))
	for i, r := range all {
		wants[i] = r.(*bound[A]).want
	}
	return wants
}

func writesOf[A any](all []resource.BatchItem) []resource.Write[A] {
	writes := make([]resource.Write[A], len(all))
	for i, item := range all {
		writes[i] = item.Resource.(*bound[A]).write(item.Changes)
		writes[i].Note = item.Note
	}
	return writes
}
