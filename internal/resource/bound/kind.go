package bound

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
)

// Kind hides the Go type of a type's attributes.
func Kind[A any](t *resource.Type[A]) resource.Kind { return kind[A]{t} }

type kind[A any] struct{ t *resource.Type[A] }

func (k kind[A]) Name() string        { return k.t.Name }
func (k kind[A]) NamevarName() string { return k.t.NamevarName }

func (k kind[A]) Traits() resource.Traits { return k.t.Traits }

func (k kind[A]) Bind(ref resource.Ref, attributes json.RawMessage, secrets ...resource.Secret) (resource.Resource, error) {
	b := unchecked(k.t, ref, *new(A))
	if len(attributes) > 0 {
		d := json.NewDecoder(bytes.NewReader(attributes))
		d.DisallowUnknownFields()
		if err := d.Decode(&b.want); err != nil {
			return nil, fmt.Errorf("cannot read attributes of %s: %w", ref, k.explain(err))
		}
	}
	return b.bind(secrets)
}

func (k kind[A]) BindTyped(ref resource.Ref, attributes any, secrets ...resource.Secret) (resource.Resource, error) {
	if want, ok := copied(k.t, attributes); ok {
		return unchecked(k.t, ref, want).bind(secrets)
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
	want, decoded := copied(k.t, attributes)
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

// copied returns a copy of attributes in the API's type; not ok if they are in another form.
func copied[A any](t *resource.Type[A], attributes any) (want A, ok bool) {
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
	return unchecked(k.t, resource.Ref{Kind: k.t.Name, Name: namevar}, want), nil
}
