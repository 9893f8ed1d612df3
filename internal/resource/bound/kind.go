package bound

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// ChooseAs gives a resource the provider of another one of its kind, so that suitability is not
// checked again for each of thousands of resources. It does nothing and returns false if the other
// resource is of another type.
func ChooseAs(r, other resource.Resource) bool { return r.(erased).chooseAs(other) }

// Kind hides the Go type of a type's attributes.
func Kind[A any](t *resource.Type[A]) resource.Kind { return kind[A]{t} }

type kind[A any] struct{ t *resource.Type[A] }

func (k kind[A]) Name() string        { return k.t.Name }
func (k kind[A]) NamevarName() string { return k.t.NamevarName }

func (k kind[A]) Traits() resource.Traits { return k.t.Traits }

func (k kind[A]) Bind(ref resource.Ref, attributes json.RawMessage, secrets ...resource.Secret) (resource.Resource, error) {
	b := &bound[A]{t: k.t, ref: ref}
	if len(attributes) > 0 {
		d := json.NewDecoder(bytes.NewReader(attributes))
		d.DisallowUnknownFields()
		if err := d.Decode(&b.want); err != nil {
			return nil, fmt.Errorf("cannot read attributes of %s: %w", ref, k.explain(err))
		}
	}
	return b.bind(secrets)
}

func (k kind[A]) Adopt(ref resource.Ref, attributes any, secrets ...resource.Secret) (resource.Resource, error) {
	if want, ok := adopt(k.t, attributes); ok {
		return (&bound[A]{t: k.t, ref: ref, want: want}).bind(secrets)
	}
	raw, err := json.Marshal(attributes)
	if err != nil {
		return nil, fmt.Errorf("cannot encode attributes of %s: %w", ref, err)
	}
	return k.Bind(ref, raw, secrets...)
}

// Location implements [resource.Kind]. What can't be decoded is nowhere.
func (k kind[A]) Location(ref resource.Ref, attributes any) string {
	if k.t.Location == nil {
		return ""
	}
	want, decoded := adopt(k.t, attributes)
	if !decoded {
		raw, err := json.Marshal(attributes)
		if err != nil || json.Unmarshal(raw, &want) != nil {
			return ""
		}
	}
	if name := k.t.Namevar(&want); *name == "" {
		*name = ref.Name
	}
	normalize(k.t, &want)
	return k.t.Location(want)
}

func adopt[A any](t *resource.Type[A], attributes any) (want A, ok bool) {
	if t.From != nil {
		return t.From(attributes)
	}
	if a, ok := attributes.(interface{ DeepCopy() *A }); ok {
		return *a.DeepCopy(), true
	}
	return want, false
}

// explain adds the fix to the decoder's error about an unknown attribute.
func (k kind[A]) explain(err error) error {
	if !strings.Contains(err.Error(), "unknown field") {
		return err
	}
	return unknownAttributeError(fmt.Sprintf("%v; %s has: %s", err, k.t.Name, strings.Join(k.attributeNames(), ", ")))
}

// An unknownAttributeError is a [resource.ErrUnknownAttribute] that lists the known attributes.
type unknownAttributeError string

// Error implements error.
func (e unknownAttributeError) Error() string { return string(e) }

// Is implements the interface of [errors.Is].
func (unknownAttributeError) Is(target error) bool { return target == resource.ErrUnknownAttribute }

func (k kind[A]) attributeNames() []string {
	var names []string
	for _, a := range k.Describe().Attributes {
		if !a.ReadOnly {
			names = append(names, a.Name)
		}
	}
	return names
}

func (k kind[A]) Named(namevar string) (resource.Resource, error) {
	var want A
	*k.t.Namevar(&want) = namevar
	normalize(k.t, &want)
	return &bound[A]{t: k.t, ref: resource.Ref{Kind: k.t.Name, Name: namevar}, want: want}, nil
}
