package bound

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
)

// erased has the methods of every [bound] resource that take others of the same kind.
type erased interface {
	chooseAs(other resource.Resource) bool
	readAll(ctx context.Context, h resource.Reader, all []resource.Resource) []error
	writeAll(ctx context.Context, h resource.Writer, all []resource.BatchItem) []error
	precheckAll(ctx context.Context, h resource.Reader, all []resource.BatchItem) []error
	recordSecrets(ctx context.Context, h resource.Writer, all []resource.Resource) error
	preRunCheckAll(ctx context.Context, h resource.Reader, all []resource.Resource) []error
	identifyAll(ctx context.Context, h resource.Reader, all []resource.Resource) ([]string, error)
	planned(changes []resource.Change) any
}

// Planned returns the [resource.Write] of a resource, for [resource.Planned].
func Planned(r resource.Resource, changes []resource.Change) any { return r.(erased).planned(changes) }

func (b *bound[A]) planned(changes []resource.Change) any {
	return resource.Write[A]{Is: b.is, Want: b.want, Changes: changes}
}

// ReadAll reads resources of one kind and provider in one call. All must have the ability
// BatchRead. The errors are parallel to all; nil is success. A panic of the provider or a wrong
// number of results is the error of all of them.
func ReadAll(ctx context.Context, h resource.Reader, all []resource.Resource) []error {
	if len(all) == 0 {
		return nil
	}
	return forAll(len(all), func() []error { return all[0].(erased).readAll(ctx, h, all) })
}

// WriteAll writes resources of one kind and provider in one call. All must have the ability
// BatchWrite. The errors are as those of [ReadAll].
func WriteAll(ctx context.Context, h resource.Writer, all []resource.BatchItem) []error {
	if len(all) == 0 {
		return nil
	}
	return forAll(len(all), func() []error { return all[0].Resource.(erased).writeAll(ctx, h, all) })
}

// PrecheckAll returns the reasons why the writes of resources of one kind and provider would fail.
// All must have the ability Precheck. The errors are as those of [ReadAll].
func PrecheckAll(ctx context.Context, h resource.Reader, all []resource.BatchItem) []error {
	if len(all) == 0 {
		return nil
	}
	return forAll(len(all), func() []error { return all[0].Resource.(erased).precheckAll(ctx, h, all) })
}

// PreRunCheckAll returns why resources of one kind and provider fail before the run. All must have the
// ability PreRunCheck. The errors are as those of [ReadAll].
func PreRunCheckAll(ctx context.Context, h resource.Reader, all []resource.Resource) []error {
	if len(all) == 0 {
		return nil
	}
	return forAll(len(all), func() []error { return all[0].(erased).preRunCheckAll(ctx, h, all) })
}

// IdentifyAll returns the identities of resources of one kind and provider, parallel to all. All
// must have the ability Identify. An error is a bug in the provider.
func IdentifyAll(ctx context.Context, h resource.Reader, all []resource.Resource) (identities []string, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	err = resource.Guarded(func() (err error) {
		identities, err = all[0].(erased).identifyAll(ctx, h, all)
		return err
	})
	return identities, err
}

// forAll returns the errors of n resources that one call handles.
func forAll(n int, call func() []error) (errs []error) {
	err := resource.Guarded(func() error {
		errs = call()
		return nil
	})
	if err == nil {
		return errs
	}
	return repeated(n, err)
}

func repeated(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (b *bound[A]) readAll(ctx context.Context, h resource.Reader, all []resource.Resource) []error {
	results := b.provider.(resource.BatchReader[A]).ReadAll(ctx, h, wantsOf[A](all))
	if err := b.miscounted(len(results), len(all)); err != nil {
		return repeated(len(all), err)
	}
	errs := make([]error, len(all))
	for i, r := range all {
		r.(*bound[A]).learnName(results[i].State)
		if errs[i] = results[i].Err; errs[i] == nil {
			r.(*bound[A]).setState(h, results[i].State)
		}
	}
	return errs
}

func (b *bound[A]) writeAll(ctx context.Context, h resource.Writer, all []resource.BatchItem) []error {
	for _, item := range all {
		written := item.Resource.(*bound[A])
		written.was = written.is
	}
	errs := b.provider.(resource.BatchWriter[A]).WriteAll(ctx, h, writesOf[A](all))
	if err := b.miscounted(len(errs), len(all)); err != nil {
		return repeated(len(all), err)
	}
	return errs
}

func (b *bound[A]) precheckAll(ctx context.Context, h resource.Reader, all []resource.BatchItem) []error {
	errs := b.provider.(resource.Prechecker[A]).Precheck(ctx, h, writesOf[A](all))
	if err := b.miscounted(len(errs), len(all)); err != nil {
		return repeated(len(all), err)
	}
	return errs
}

func (b *bound[A]) preRunCheckAll(ctx context.Context, h resource.Reader, all []resource.Resource) []error {
	errs := b.provider.(resource.PreRunChecker[A]).PreRunCheck(ctx, h, wantsOf[A](all))
	if err := b.miscounted(len(errs), len(all)); err != nil {
		return repeated(len(all), err)
	}
	return errs
}

func (b *bound[A]) identifyAll(ctx context.Context, h resource.Reader, all []resource.Resource) ([]string, error) {
	identities := b.provider.(resource.Identifier[A]).Identify(ctx, h, wantsOf[A](all))
	return identities, b.miscounted(len(identities), len(all))
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
		r := item.Resource.(*bound[A])
		writes[i] = resource.Write[A]{Is: r.is, Want: r.want, Changes: item.Changes, Note: item.Note}
	}
	return writes
}

func (b *bound[A]) miscounted(got, want int) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("provider %s returned %d results for %d resources (a bug in the provider)", b.provider.Name(), got, want)
}
