package external

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/dsc"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/resource"
)

// compared returns a state that was read, with what its comparison with a desired state needs.
func (p dscResource) compared(state dsc.State, want Attributes) (Attributes, error) {
	ensure, err := p.ensureOf(state)
	if err != nil {
		return Attributes{}, err
	}
	is := Attributes{values: wire.State{resource.Ensure: ensure}}
	if ensure == resource.Absent {
		return is, nil
	}
	is.canonical, is.verdicts = wire.State{}, map[string]wire.Verdict{}
	for i := range p.Spec.Attributes {
		at := &p.Spec.Attributes[i]
		value := state[at.Name]
		if value != nil {
			is.values[at.Name] = value
		}
		if err := checkTime(at, value); err != nil {
			return is, err
		}
		if should, ok := want.values[at.Name]; ok {
			p.canonicalize(&is, at, value, should)
		}
	}
	if p.DSC.Singleton {
		for _, at := range p.Namevars() {
			is.values[at.Name] = want.values[at.Name]
		}
	}
	return is, nil
}

// ensureOf returns the value of ensure of a state.
func (p dscResource) ensureOf(state dsc.State) (string, error) {
	canonical, err := state.Canonical()
	if err != nil {
		return "", err
	}
	switch property := p.DSC.Existence; property {
	case "":
		return p.Spec.Ensure.Default, nil
	case dsc.Exist:
		if !canonical.Exist {
			return resource.Absent, nil
		}
		return p.Spec.Ensure.Default, nil
	default:
		if state[property] == nil {
			return resource.Absent, nil
		}
		for ensure, value := range p.DSC.ExistenceValues {
			if text, ok := state[property].(string); ok && strings.EqualFold(text, value) {
				return ensure, nil
			}
		}
		return "", fmt.Errorf("the resource returned the value %.40q of %s, which its schema does not have", show(state[property]), property)
	}
}

// canonicalize compares a value in the way of its attribute. If the system writes a desired value in another way, such as
// in another case, the system's way is the desired one, unless it is not one of the values of an enum.
func (p dscResource) canonicalize(is *Attributes, at *v1alpha1.ExternalAttribute, value, should any) {
	switch {
	case p.DSC.EmptyIsUnset && empty(value) && empty(should):
		is.verdicts[at.Name] = wire.Verdict{InSync: true}
	case value == nil:
	case sameTime(at, value, should):
		is.canonical[at.Name] = value
	case at.CaseInsensitive && inSync(at, value, should):
		foldCase(is, at, value, should)
	}
}

// foldCase compares values that are equal except for their case.
func foldCase(is *Attributes, at *v1alpha1.ExternalAttribute, value, should any) {
	if text, ok := value.(string); ok && !inEnum(at, text) {
		is.verdicts[at.Name] = wire.Verdict{InSync: value == should}
	} else if at.Match != v1alpha1.MatchFirst && at.Match != v1alpha1.MatchMinimum {
		is.canonical[at.Name] = value
	}
}

// empty reports whether PowerShell treats a value as none.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// inEnum reports whether a schema allows a text: all of them without an enum.
func inEnum(at *v1alpha1.ExternalAttribute, text string) bool {
	values := definition.Enum(at)
	return len(values) == 0 || slices.Contains(values, any(text))
}

// checkTime returns an error if a value that must be a time is none.
func checkTime(at *v1alpha1.ExternalAttribute, value any) error {
	text, ok := value.(string)
	if !ok || definition.Format(at) != "date-time" {
		return nil
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
		return fmt.Errorf("the resource returned a value of %s that is no time such as 2006-01-02T15:04:05Z", at.Name)
	}
	return nil
}

// sameTime reports whether two values are the same time, maybe in other zones.
func sameTime(at *v1alpha1.ExternalAttribute, value, should any) bool {
	if definition.Format(at) != "date-time" {
		return false
	}
	a, okA := value.(string)
	b, okB := should.(string)
	x, errX := time.Parse(time.RFC3339Nano, a)
	y, errY := time.Parse(time.RFC3339Nano, b)
	return okA && okB && errX == nil && errY == nil && x.Equal(y)
}

// verdicts returns what a test says about the properties that are managed. Those that it names differ. A test that names
// none, but says that the state is not the desired one, means those that differ from the state that it printed, and all of
// them if none does.
func (p dscResource) verdicts(is, want Attributes, diff []string, inDesiredState *bool) map[string]wire.Verdict {
	switch {
	case inDesiredState == nil && diff == nil: // the state is all that is known
		return is.verdicts
	case inDesiredState != nil && *inDesiredState, inDesiredState == nil && len(diff) == 0:
		return verdictsOn(p.managed(want), nil, "")
	}
	managed := p.managed(want)
	differ := slices.DeleteFunc(slices.Clone(managed), func(name string) bool { return !slices.Contains(diff, p.propertyOf(name)) })
	if len(differ) == 0 {
		differ = p.differing(is, want)
	}
	if len(differ) > 0 {
		return verdictsOn(managed, differ, "")
	}
	differ = managed
	if len(managed) > 1 {
		differ = slices.DeleteFunc(slices.Clone(managed), func(name string) bool { return name == resource.Ensure })
	}
	return verdictsOn(managed, differ, "the resource's test says that its state is not the desired one, but not why")
}

// verdictsOn returns verdicts on properties. ensure is compared by the state if others differ and it is not said to.
func verdictsOn(all, differ []string, message string) map[string]wire.Verdict {
	verdicts := map[string]wire.Verdict{}
	for _, name := range all {
		if slices.Contains(differ, name) {
			verdicts[name] = wire.Verdict{Message: message}
		} else if name != resource.Ensure || len(differ) == 0 {
			verdicts[name] = wire.Verdict{InSync: true}
		}
	}
	return verdicts
}

// managed returns the names of the properties that a desired state manages.
func (p dscResource) managed(want Attributes) []string {
	var all []string
	if want.ensure() != "" {
		all = append(all, resource.Ensure)
	}
	for _, at := range p.Spec.Attributes {
		_, set := want.values[at.Name]
		if set && (at.Behaviour == v1alpha1.BehaviourProperty || at.Behaviour == v1alpha1.BehaviourInitOnly) {
			all = append(all, at.Name)
		}
	}
	return all
}

// differing returns the managed properties whose values differ.
func (p dscResource) differing(is, want Attributes) []string {
	return slices.DeleteFunc(p.managed(want), func(name string) bool {
		if name == resource.Ensure {
			return is.ensure() == want.ensure()
		}
		if v, ok := is.verdicts[name]; ok {
			return v.InSync
		}
		should := want.values[name]
		if c, ok := is.canonical[name]; ok {
			should = c
		}
		value, ok := is.values[name]
		return ok && inSync(p.attribute(name), value, should)
	})
}

// unknown returns the properties of a state that the type does not have.
func (p dscResource) unknown(state dsc.State) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if p.attribute(name) == nil && name != p.DSC.Existence && !dsc.IsCanonical(name) {
			all = append(all, name)
		}
	}
	return all
}
