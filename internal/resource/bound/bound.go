// Package bound binds attributes to their type. It implements [resource.Kind], [resource.Resource] and
// [resource.ChosenProvider] for every type, which hides the Go type of the attributes from the engine.
package bound

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// bound is the Resource of a type. Each of its parts changes at one time: desired when attributes are bound, chosen
// when a provider is chosen, and state when the host is read.
type bound[A any] struct {
	desired[A]
	chosen  *chosen[A] // nil before
	state   state[A]
	audited []string // names of properties, in the type's order
}

// desired is what a manifest says of an object.
type desired[A any] struct {
	t       *resource.Type[A]
	ref     resource.Ref
	want    A
	secrets []string // attributes of want that have the value of a Secret
}

// New binds attributes that a program made, as [resource.Kind].Bind binds those that a user wrote.
func New[A any](t *resource.Type[A], ref resource.Ref, want A) (resource.Resource, error) {
	return unchecked(t, ref, want).bind(nil)
}

// unchecked returns attributes that are not complete.
func unchecked[A any](t *resource.Type[A], ref resource.Ref, want A) *bound[A] {
	return &bound[A]{desired: desired[A]{t: t, ref: ref, want: want}}
}

// bind completes and checks decoded attributes. It works in place, since attributes may be
// large and a run binds thousands of resources.
func (b *bound[A]) bind(secrets []resource.Secret) (resource.Resource, error) {
	if err := b.setSecrets(secrets); err != nil {
		return nil, err
	}
	if err := b.complete(); err != nil {
		return nil, redacted(err, secrets)
	}
	return b, nil
}

func (d *desired[A]) complete() error {
	if v := d.t.Namevar(&d.want); *v == "" {
		*v = d.ref.Name
	}
	if d.t.Default != nil {
		d.t.Default(&d.want)
	}
	for _, o := range d.t.OneOf {
		if err := checkOneOf(o, &d.want); err != nil {
			return err
		}
	}
	normalize(d.t, &d.want)
	if d.t.Validate != nil {
		return d.t.Validate(d.want)
	}
	return nil
}

func checkOneOf[A any](o resource.OneOf[A], want *A) error {
	if v := o.Value(want); v != nil && !slices.Contains(o.Words, *v) {
		last := len(o.Words) - 1
		return fmt.Errorf("%s %q is not known: use %s or %s", o.Attribute, *v, strings.Join(o.Words[:last], ", "), o.Words[last])
	}
	return nil
}

func exists[A any](t *resource.Type[A], is A) bool { return t.Exists == nil || t.Exists(is) }

func normalize[A any](t *resource.Type[A], a *A) {
	if t.Normalize != nil {
		t.Normalize(a)
	}
}

func (d *desired[A]) Ref() resource.Ref { return d.ref }

func (d *desired[A]) Kind() resource.Kind { return kind[A]{d.t} }

func (d *desired[A]) Traits() resource.Traits { return d.t.Traits }

// hides reports whether the values of a property must not be shown, because its type declares it
// sensitive or the desired value comes from a Secret.
func (d *desired[A]) hides(p resource.Property[A], is A) bool {
	return slices.Contains(d.secrets, p.Name) || isHidden(p, is, d.want)
}
