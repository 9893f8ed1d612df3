package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/contract"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/wire"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

// Attributes are the attributes of a resource by name, with ensure: a desired state, or one that was read. In JSON they are
// one object.
type Attributes struct {
	name    string // the namevar; of several, their values joined: see [definition.Definition.Join]
	values  wire.State
	secrets []string // the names of values that come from Secrets
	pending []string // the names of values that will come from Secrets, for a desired state that only the manager has
	related []resource.Related

	// The rest belongs to a state that was read.
	canonical wire.State // the desired state as the program writes it; nil if it has no form of its own
	named     bool       // the program has answered canonicalize, so the canonical name is known
	verdicts  map[string]wire.Verdict
	hide      func() redact.Secrets // the secrets of the process that read it; nil for none
}

// shown returns a value as people may see it: an attribute that is not sensitive may have the value of one that is.
func (a Attributes) shown(value any) string {
	if a.hide != nil {
		value = a.hide().Value(value)
	}
	return show(value)
}

// MarshalJSON implements [json.Marshaler].
func (a Attributes) MarshalJSON() ([]byte, error) { return json.Marshal(a.values) }

// UnmarshalJSON implements [json.Unmarshaler]. Numbers keep their digits.
func (a *Attributes) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(&a.values)
}

// fromAPI returns the attributes of a resource in the cluster or a manifest.
func fromAPI(api any) (Attributes, bool) {
	v, ok := api.(v1alpha1.ExternalValues)
	return Attributes{values: v.Values, pending: v.FromSecrets}, ok
}

// set sets a value without changing a map that others may have.
func (a *Attributes) set(name string, value any) {
	if a.values = maps.Clone(a.values); a.values == nil {
		a.values = wire.State{}
	}
	a.values[name] = value
}

// ensure returns the value of ensure, "" if it is unmanaged.
func (a Attributes) ensure() string {
	text, _ := a.values[resource.Ensure].(string)
	return text
}

// sensitive returns the names of attributes whose values must not be shown.
func (t typed) sensitive(a Attributes) []string {
	var names []string
	for i := range t.Spec.Attributes {
		at := &t.Spec.Attributes[i]
		if _, ok := a.values[at.Name]; ok && isSensitive(at, a) {
			names = append(names, at.Name)
		}
	}
	return names
}

func isSensitive(at *v1alpha1.ExternalAttribute, a Attributes) bool {
	return at.Sensitive || slices.Contains(a.secrets, at.Name)
}

// A typed is a type's rules for attributes.
type typed struct{ *definition.Definition }

// namevar returns the field with the name of a resource. It is empty if a single Namevar is not set.
func (t typed) namevar(a *Attributes) *string {
	if a.name == "" {
		a.name = t.NameOf(a.values)
	}
	return &a.name
}

// canonicalName returns the name that all spellings of an object have in common, and whether it is known: only the program knows
// how it writes Namevars if it answers canonicalize.
func (t typed) canonicalName(want, is Attributes) (name string, known bool) {
	values := maps.Clone(want.values)
	for _, v := range t.Namevars() {
		if value, ok := is.canonical[v.Name]; ok && is.named && value != nil {
			values[v.Name] = value
		}
	}
	return t.CanonicalName(values), is.named || !t.Answers(v1alpha1.RequestCanonicalize)
}

// formerName returns the name of a resource in records that were written before names were escaped and canonical.
func (t typed) formerName(want Attributes) string {
	var parts []string
	for _, v := range t.Namevars() {
		parts = append(parts, fmt.Sprint(want.values[v.Name]))
	}
	return strings.Join(parts, t.Spec.NamevarSeparator)
}

// normalize sets the Namevars from the name if they are not set.
func (t typed) normalize(a *Attributes) {
	if t.NameOf(a.values) != "" || a.name == "" {
		return
	}
	all := t.Namevars()
	parts, ok := t.Split(a.name)
	if !ok {
		return // validate reports what is missing
	}
	for i, v := range all {
		if _, ok := a.values[v.Name]; ok {
			continue
		}
		if definition.SchemaType(&v) == "integer" {
			a.set(v.Name, json.Number(parts[i]))
		} else {
			a.set(v.Name, parts[i])
		}
	}
}

// setDefaults sets the default of ensure. The catalog has the defaults of other attributes.
func (t typed) setDefaults(a *Attributes) {
	if a.ensure() == "" && t.Spec.Ensure.Default != "" {
		a.set(resource.Ensure, t.Spec.Ensure.Default)
	}
}

// validate checks a desired state: values from Secrets were not there when an API server checked it.
func (t typed) validate(a Attributes) error {
	for _, name := range slices.Sorted(maps.Keys(a.values)) {
		if name == resource.Ensure {
			continue
		}
		at := t.attribute(name)
		switch {
		case at == nil:
			return unknownAttributeError(fmt.Sprintf("%s has no attribute %q: use one of %s", t.Spec.Kind, name, strings.Join(t.settable(), ", ")))
		case at.Behaviour == v1alpha1.BehaviourReadOnly:
			return fmt.Errorf("%s cannot be set, it is only read: remove it", name)
		}
	}
	if err := contract.Desired(t.Definition, a.values); err != nil {
		return err
	}
	if e := a.ensure(); e != "" && e != resource.Absent && !slices.Contains(t.Spec.Ensure.Values, e) {
		return fmt.Errorf("ensure %q is not known: use %s or %s", e, strings.Join(t.Spec.Ensure.Values, ", "), resource.Absent)
	}
	if err := t.complete(a); err != nil {
		return err
	}
	return t.conforms(a)
}

// complete returns an error if a required attribute is missing.
func (t typed) complete(a Attributes) error {
	for i := range t.Spec.Attributes {
		at := &t.Spec.Attributes[i]
		if _, ok := a.values[at.Name]; !ok && at.Required && !slices.Contains(a.pending, at.Name) && (a.ensure() != resource.Absent || at.Behaviour == v1alpha1.BehaviourNamevar) {
			return fmt.Errorf("%s is missing: %s requires it", at.Name, t.Spec.Kind)
		}
	}
	return nil
}

func (t typed) attribute(name string) *v1alpha1.ExternalAttribute {
	for i := range t.Spec.Attributes {
		if t.Spec.Attributes[i].Name == name {
			return &t.Spec.Attributes[i]
		}
	}
	return nil
}

func (t typed) settable() []string {
	names := []string{resource.Ensure}
	for _, at := range t.Spec.Attributes {
		if at.Behaviour != v1alpha1.BehaviourReadOnly {
			names = append(names, at.Name)
		}
	}
	return names
}

// An unknownAttributeError is a [resource.ErrUnknownAttribute] with the known attributes.
type unknownAttributeError string

// Error implements error.
func (e unknownAttributeError) Error() string { return string(e) }

// Is implements the interface of [errors.Is].
func (unknownAttributeError) Is(target error) bool { return target == resource.ErrUnknownAttribute }

// deleted returns the attributes that remove a resource: none of them is secret.
func (t typed) deleted(want Attributes) Attributes {
	out := Attributes{name: want.name, values: wire.State{resource.Ensure: resource.Absent}}
	for i := range t.Spec.Attributes {
		at := &t.Spec.Attributes[i]
		value, ok := want.values[at.Name]
		if ok && !isSensitive(at, want) && (at.Behaviour == v1alpha1.BehaviourNamevar || at.Behaviour == v1alpha1.BehaviourParameter) {
			out.values[at.Name] = value
		}
	}
	return out
}

// relatedNames returns the names of a relation: a constant, or the values of an attribute.
func relatedNames(r v1alpha1.ExternalRelation) func(Attributes) []string {
	return func(want Attributes) []string {
		name, variable := strings.CutPrefix(r.Name, "$")
		if !variable {
			return []string{r.Name}
		}
		switch v := want.values[name].(type) {
		case nil:
			return nil
		case []any:
			var all []string
			for _, e := range v {
				all = append(all, fmt.Sprint(e))
			}
			return all
		default:
			return []string{fmt.Sprint(v)}
		}
	}
}
