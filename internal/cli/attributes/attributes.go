// Package attributes says what the attributes of kinds accept, built-in and external ones alike.
package attributes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/valueschema"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Form is what an attribute accepts.
type Form struct {
	Type     string // such as string, list of integer, or string or null
	Values   []string
	Default  string // the value, or the expression of an external type; "" if there is none, or only the description has it
	Required bool
	Secret   bool // its value is never shown
	Namevar  bool // of an external type, which may have several
	Fixed    bool // it can only be set when the object is created
	Doc      string
}

// Fields are the forms of what a resource's spec may have, by name.
type Fields struct {
	Attributes map[string]Form
	Sources    map[string]Form // where values of attributes come from instead, such as contentFrom
	Shared     map[string]Form // of all kinds: relations, noop and the like
}

// Of returns the forms of a kind's fields. d is the definition of an external type; nil for a built-in kind.
func Of(k resource.Kind, d *definition.Definition) (all Fields, err error) {
	c, err := definitionOf(k, d)
	if err != nil {
		return all, err
	}
	spec := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	forms, err := formsOf(spec)
	if err != nil {
		return all, err
	}
	own := []string{"ensure", "properties"} // of an external type; see ofType
	if d == nil {
		own = ownNames(k)
	}
	all = divide(forms, own)
	if d != nil {
		all.Attributes = ofType(d)
	}
	return all, nil
}

// divide divides the forms of a spec, of which own are attributes.
func divide(forms map[string]Form, own []string) Fields {
	all := Fields{map[string]Form{}, map[string]Form{}, map[string]Form{}}
	shared := jsonNames(reflect.TypeFor[v1alpha1.Targeting]())
	for name, f := range forms {
		switch {
		case slices.Contains(shared, name):
			all.Shared[name] = f
		case slices.Contains(own, name):
			all.Attributes[name] = f
		default:
			all.Sources[name] = f
		}
	}
	return all
}

// formsOf returns the forms of a spec.
func formsOf(spec apiextensionsv1.JSONSchemaProps) (map[string]Form, error) {
	all := map[string]Form{}
	for name, s := range spec.Properties {
		raw, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		f := read(raw)
		f.Required, f.Doc = slices.Contains(spec.Required, name), sentence(name, s.Description)
		all[name] = f
	}
	return all, nil
}

func definitionOf(k resource.Kind, d *definition.Definition) (*apiextensionsv1.CustomResourceDefinition, error) {
	if d != nil {
		return crdbuild.Build(d)
	}
	return crd.Of(k.Name())
}

// ownNames returns the names of a kind's attributes.
func ownNames(k resource.Kind) []string {
	var names []string
	for _, at := range k.Describe().Attributes {
		names = append(names, at.Name)
	}
	return names
}

// jsonNames returns the names of a struct's fields, with those of embedded structs.
func jsonNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// sentence returns the description of a field without the name that it begins with.
func sentence(name, description string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(description, name+" "), "is "), "are ")
	return strings.ToUpper(rest[:min(1, len(rest))]) + rest[min(1, len(rest)):]
}

func ofType(d *definition.Definition) map[string]Form {
	all := map[string]Form{"ensure": {Type: valueschema.String, Values: append(slices.Clone(d.Spec.Ensure.Values), "absent"), Default: d.Spec.Ensure.Default}}
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		f := read(at.Schema.Raw)
		f.Default, f.Required, f.Secret = cmp.Or(at.Default, f.Default), at.Required && at.Default == "", at.Sensitive
		f.Namevar, f.Fixed = at.Behaviour == v1alpha1.BehaviourNamevar, at.Behaviour == v1alpha1.BehaviourInitOnly
		if f.Namevar && !at.Required && at.Default == "" {
			f.Default = "metadata.name"
		}
		all[at.Name] = f
	}
	return all
}

// read returns what a schema says.
func read(raw []byte) Form {
	var s struct {
		Enum    []json.RawMessage `json:"enum"`
		Default json.RawMessage   `json:"default"`
		Format  string            `json:"format"`
	}
	_ = json.Unmarshal(raw, &s) // what it cannot say is left out
	f := Form{Type: typeOf(raw), Secret: s.Format == "password", Default: plain(s.Default)}
	for _, v := range s.Enum {
		f.Values = append(f.Values, plain(v))
	}
	return f
}

// typeOf returns the types of a schema, with those of the elements of a list or map.
func typeOf(raw []byte) string {
	types := valueschema.Types(raw)
	var s struct {
		Items      json.RawMessage `json:"items"`
		Additional json.RawMessage `json:"additionalProperties"`
	}
	_ = json.Unmarshal(raw, &s) // as above
	for i, name := range types {
		switch {
		case name == valueschema.Array && len(s.Items) > 0:
			types[i] = "list of " + typeOf(s.Items)
		case name == valueschema.Object && len(s.Additional) > 0 && s.Additional[0] == '{':
			types[i] = "map of " + typeOf(s.Additional)
		}
	}
	return cmp.Or(valueschema.Words(types), "any")
}

// plain returns a value as people write it.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return text
	}
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return ""
	}
	return out.String()
}

// String returns the form in a line.
func (f Form) String() string {
	parts := []string{f.Type}
	if len(f.Values) > 0 {
		parts = append(parts, "one of "+strings.Join(f.Values, ", "))
	}
	if f.Required {
		parts = append(parts, "required")
	}
	if f.Default != "" {
		parts = append(parts, "default: "+f.Default)
	}
	if f.Fixed {
		parts = append(parts, "immutable")
	}
	if f.Secret {
		parts = append(parts, "sensitive")
	}
	return strings.Join(parts, "; ")
}
