// Package contract checks what an external type and its program promise each other: values that a program is asked for, and
// those that it answers. Plans, applies and fettle type test check the same.
//
// A present state may have values that the schema of a property excludes, because others than Fettle change hosts, and a
// change corrects them. Everything else must conform: what is desired, and what a program makes of it.
package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/resource"
)

// The value of ensure of resources that do not exist, and the name of its attribute.
const (
	absent = "absent"
	ensure = "ensure"
)

// Read returns the state in an answer to get about a desired state, with what programs may leave out. canonical is that
// desired state in the program's own form; nil if it has none.
func Read(d *definition.Definition, should, canonical wire.State, answer wire.Answer) (wire.State, error) {
	state, err := complete(d, answer.State)
	if err != nil {
		return nil, err
	}
	if err := verdicts(d, answer.InSync); err != nil {
		return nil, err
	}
	relied := func(name string) bool {
		_, wanted := should[name]
		_, decided := answer.InSync[name]
		return wanted && !decided
	}
	if err := typesFit(d, state, relied); err != nil || state[ensure] == absent {
		return state, err
	}
	return state, namevars(d, should, canonical, state)
}

// Canonical returns an error unless an answer to canonicalize is a desired state of the same resource.
func Canonical(d *definition.Definition, should, answer wire.State) error {
	if err := known(d, answer); err != nil {
		return err
	}
	if is, ok := answer[ensure]; ok && is != should[ensure] {
		return fmt.Errorf("the program made ensure %.40q of %.40q in canonicalize: return ensure as it is", fmt.Sprint(is), fmt.Sprint(should[ensure]))
	}
	for _, at := range d.Namevars() {
		if value, ok := answer[at.Name]; ok && value == nil {
			return missing(at.Name)
		}
	}
	if err := typesFit(d, answer, func(string) bool { return true }); err != nil {
		return err
	}
	if err := Conforms(d, answer); err != nil {
		return fmt.Errorf("the program answered canonicalize with a value that the type excludes: %w", err)
	}
	return nil
}

// Listed returns the state in an answer to list, with what programs may leave out. The answer is about a resource that
// exists, or says that it does not.
func Listed(d *definition.Definition, answer wire.Answer) (wire.State, error) {
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	state, err := complete(d, answer.State)
	if err != nil || state[ensure] == absent {
		return state, err
	}
	return state, namevars(d, nil, nil, state)
}

// Conforms returns an error if the schema of an attribute excludes a value. It says nothing of ensure. Of the match First, an
// element may stand for the list.
func Conforms(d *definition.Definition, state wire.State) error {
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		value, ok := state[at.Name]
		if _, list := value.([]any); ok && (list || at.Match != v1alpha1.MatchFirst) {
			if err := d.Conforms(at, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Declarable reports whether a resource of the type could be the one with this state: the schemas of its Namevars, and of
// attributes that can have one value only, allow what it has. Others belong to another type with the same program, or can't be
// declared.
func Declarable(d *definition.Definition, state wire.State) bool {
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		value, ok := state[at.Name]
		identifies := at.Behaviour == v1alpha1.BehaviourNamevar || len(definition.Enum(at)) == 1
		if ok && identifies && d.Conforms(at, value) != nil {
			return false
		}
	}
	return true
}

// Changes returns an error if one of the attributes that are out of sync can only be set when the resource is created.
func Changes(d *definition.Definition, names []string) error {
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		if at.Behaviour == v1alpha1.BehaviourInitOnly && slices.Contains(names, at.Name) {
			return fmt.Errorf("%s can only be set when the %s is created: remove it from the host first, or correct %s", at.Name, d.Spec.Kind, at.Name)
		}
	}
	return nil
}

// complete returns a state with ensure: nil is a resource that does not exist, and a state without ensure one that exists if
// there is only one way to.
func complete(d *definition.Definition, state wire.State) (wire.State, error) {
	if state == nil {
		return wire.State{ensure: absent}, nil
	}
	if _, ok := state[ensure]; !ok && len(d.Spec.Ensure.Values) == 1 {
		state = maps.Clone(state)
		state[ensure] = d.Spec.Ensure.Values[0]
	}
	switch e, ok := state[ensure].(string); {
	case !ok && state[ensure] == nil:
		return nil, fmt.Errorf("the program answered without ensure: it must be %s or %s", strings.Join(d.Spec.Ensure.Values, ", "), absent)
	case e != absent && !slices.Contains(d.Spec.Ensure.Values, e):
		return nil, fmt.Errorf("the program answered with the value %.40q of ensure, which the type does not have", fmt.Sprint(state[ensure]))
	}
	return state, known(d, state)
}

// known returns an error if a state has an attribute that the type does not have.
func known(d *definition.Definition, state wire.State) error {
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if name != ensure && attribute(d, name) == nil {
			return fmt.Errorf("the program answered with the attribute %.40q, which the type does not have", name)
		}
	}
	return nil
}

// verdicts returns an error if the program decided about an attribute that the type does not have.
func verdicts(d *definition.Definition, all map[string]wire.Verdict) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != ensure && attribute(d, name) == nil {
			return fmt.Errorf("the program answered with the attribute %.40q in inSync, which the type does not have", name)
		}
	}
	return nil
}

// namevars returns an error unless a state has all Namevars and, if one was asked for, those of the desired state or of its
// canonical form.
func namevars(d *definition.Definition, should, canonical, state wire.State) error {
	for _, at := range d.Namevars() {
		is, ok := state[at.Name]
		if !ok || is == nil {
			return missing(at.Name)
		}
		if !definition.Fits(&at, is) {
			return typeError(&at, is)
		}
		asked, ok := should[at.Name]
		own, decided := canonical[at.Name]
		if !ok || same(&at, is, asked) || decided && same(&at, is, own) {
			continue
		}
		return &resource.OtherNameError{Reason: fmt.Sprintf(
			"the program was asked for the %s %.80q, and answered with %.80q: return it as it was asked for, or declare caseInsensitive or the request Canonicalize",
			at.Name, fmt.Sprint(asked), fmt.Sprint(is))}
	}
	return nil
}

func missing(name string) error {
	return fmt.Errorf("the program answered without the Namevar %s: a state must have all Namevars, because they identify the resource", name)
}

func attribute(d *definition.Definition, name string) *v1alpha1.ExternalAttribute {
	for i := range d.Spec.Attributes {
		if d.Spec.Attributes[i].Name == name {
			return &d.Spec.Attributes[i]
		}
	}
	return nil
}
