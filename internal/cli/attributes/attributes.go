// Package attributes says what the attributes of kinds accept, built-in and external ones alike.
package attributes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
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
}

// Of returns the forms of a kind's attributes by name. d is the definition of an external type; nil for a built-in kind.
func Of(k resource.Kind, d *definition.Definition) (map[string]Form, error) {
	if d != nil {
		return ofType(d), nil
	}
	c, err := crd.Of(k.Name())
	if err != nil {
		return nil, err
	}
	spec := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	all := map[string]Form{}
	for name, s := range spec.Properties {
		raw, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		f := read(raw)
		f.Required = slices.Contains(spec.Required, name)
		all[name] = f
	}
	return all, nil
}

func ofType(d *definition.Definition) map[string]Form {
	all := map[string]Form{"ensure": {Type: valueschema.String, Values: append(slices.Clone(d.Spec.Ensure.Values), "absent"), Default: d.Spec.Ensure.Default}}
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		f := read(at.Schema.Raw)
		f.Default, f.Required, f.Secret = cmp.Or(at.Default, f.Default), at.Required && at.Default == "", at.Sensitive
		f.Namevar = at.Behaviour == v1alpha1.BehaviourNamevar
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
	if f.Secret {
		parts = append(parts, "sensitive")
	}
	return strings.Join(parts, "; ")
}
