package external

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
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
		should, wanted := want.values[at.Name]
		if p.DSC.Own(at) {
			p.own(&is, at, should)
			continue
		}
		value := valueOf(state, at.Name, at.CaseInsensitive)
		if value != nil {
			is.values[at.Name] = value
		}
		if err := checkTime(at, value); err != nil {
			return is, err
		}
		if wanted {
			p.compare(&is, at, value, should)
		}
	}
	return is, p.plausible(&is, want)
}

// own sets an attribute that the resource does not know.
func (p dscResource) own(is *Attributes, at *v1alpha1.ExternalAttribute, should any) {
	if should == nil && p.DSC.Singleton && at.Behaviour == v1alpha1.BehaviourNamevar {
		should = definition.Enum(at)[0]
	}
	if should != nil {
		is.values[at.Name] = should
	}
}

// plausible checks a state that was read as that of any program. A Namevar that the resource does not return is the one that it
// was asked for. Parameters are not compared, and what PowerShell takes for nothing has no type.
func (p dscResource) plausible(is *Attributes, want Attributes) error {
	for _, at := range p.Namevars() {
		if asked, ok := want.values[at.Name]; ok && is.values[at.Name] == nil {
			is.values[at.Name] = asked
		}
	}
	state := maps.Clone(is.values)
	maps.DeleteFunc(state, func(name string, value any) bool {
		at := p.attribute(name)
		return at != nil && (at.Behaviour == v1alpha1.BehaviourParameter || p.DSC.EmptyIsUnset && empty(value))
	})
	if want.values == nil {
		_, err := contract.Listed(p.Definition, wire.Answer{State: state})
		return err
	}
	_, err := contract.Read(p.Definition, want.values, nil, wire.Answer{State: state})
	return err
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
		is := valueOf(state, property, true)
		if is == nil {
			return resource.Absent, nil
		}
		for ensure, value := range p.DSC.ExistenceValues {
			if text, ok := is.(string); ok && strings.EqualFold(text, value) {
				return ensure, nil
			}
		}
		return "", fmt.Errorf("the resource returned the value %.40q of %s, which its schema does not have", show(is), property)
	}
}

// compare compares a value as DSC does. If the system writes a desired value in another way, such as in another case, the
// system's way is the desired one, unless it is not one of the values of an enum.
func (p dscResource) compare(is *Attributes, at *v1alpha1.ExternalAttribute, value, should any) {
	c, schema := comparison{foldCase: at.CaseInsensitive}, p.DSC.SchemaOf(at.Name)
	switch {
	case p.DSC.EmptyIsUnset && empty(value) && empty(should):
		is.verdicts[at.Name] = wire.Verdict{InSync: true}
	case value == nil:
		is.verdicts[at.Name] = wire.Verdict{InSync: c.ofMissing(should, schema)}
	case sameTime(at, value, should):
		is.canonical[at.Name] = value
	default:
		items := itemsOf(schema, should)
		same := matches(at, value, should, func(value, should any) bool { return c.satisfies(value, should, items) })
		is.verdicts[at.Name] = wire.Verdict{InSync: same}
		if same && at.CaseInsensitive && isCanonical(at, value) {
			is.canonical[at.Name] = value
		}
	}
}

// isCanonical reports whether a value that equals the desired one but for its case can replace it. Lists of which only some
// elements count, objects, and texts that an enum does not have cannot.
func isCanonical(at *v1alpha1.ExternalAttribute, value any) bool {
	switch v := value.(type) {
	case string:
		return inEnum(at, v)
	case []any:
		some := at.Match == v1alpha1.MatchFirst || at.Match == v1alpha1.MatchMinimum
		return !some && !slices.ContainsFunc(v, func(e any) bool { _, text := e.(string); return !text })
	}
	return false
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
		known := slices.ContainsFunc(p.Spec.Attributes, func(at v1alpha1.ExternalAttribute) bool { return sameText(at.Name, name, at.CaseInsensitive) })
		if !known && name != p.DSC.Existence && !dsc.IsCanonical(name) {
			all = append(all, name)
		}
	}
	return all
}
