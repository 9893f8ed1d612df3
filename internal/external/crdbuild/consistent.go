package crdbuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	jsonutil "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/internal/structural"
)

// Consistent returns what API servers accept in the schemas of a definition by Build, although it has no effect or no value fits. It is
// for authors: types that are in use work as before.
func Consistent(built *apiextensionsv1.CustomResourceDefinition) error {
	attributes := Properties(built).Properties
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		s := attributes[name]
		for _, fault := range faultsOf(&s, &s) {
			faults = append(faults, fmt.Errorf("spec.attributes[%s].schema%w", name, fault))
		}
	}
	return errors.Join(faults...)
}

// faultsOf returns the faults of a condition on the values of a schema, which is that schema itself or a part of its allOf, anyOf, oneOf
// or not. The errors begin after the name of the condition.
func faultsOf(condition, of *apiextensionsv1.JSONSchemaProps) []error {
	faults := slices.Concat(ineffectiveKeywords(condition, of.Type), emptyRanges(condition), impossibleValues(condition, of), unknownFields(condition, of))
	for i, all := range [][]apiextensionsv1.JSONSchemaProps{condition.AllOf, condition.AnyOf, condition.OneOf} {
		for j := range all {
			faults = append(faults, prefixed(fmt.Sprintf(".%s[%d]", []string{"allOf", "anyOf", "oneOf"}[i], j), faultsOf(&all[j], of))...)
		}
	}
	if condition.Not != nil {
		faults = append(faults, prefixed(".not", faultsOf(condition.Not, of))...)
	}
	for _, name := range slices.Sorted(maps.Keys(condition.Properties)) {
		field, whole := condition.Properties[name], fieldOf(of, name)
		if condition == of {
			whole = &field
		}
		if whole != nil {
			faults = append(faults, prefixed(".properties["+name+"]", faultsOf(&field, whole))...)
		}
	}
	return append(faults, faultsOfElements(condition, of)...)
}

func faultsOfElements(condition, of *apiextensionsv1.JSONSchemaProps) (faults []error) {
	if i := condition.Items; i != nil && i.Schema != nil && of.Items != nil && of.Items.Schema != nil {
		faults = prefixed(".items", faultsOf(i.Schema, of.Items.Schema))
	}
	if a := condition.AdditionalProperties; a != nil && a.Schema != nil && of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		faults = append(faults, prefixed(".additionalProperties", faultsOf(a.Schema, of.AdditionalProperties.Schema))...)
	}
	return faults
}

func prefixed(path string, faults []error) []error {
	all := make([]error, len(faults))
	for i, f := range faults {
		all[i] = fmt.Errorf("%s%w", path, f)
	}
	return all
}

// fieldOf returns the schema of a field of an object, nil if it has none.
func fieldOf(of *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	if s, ok := of.Properties[name]; ok {
		return &s
	}
	if of.AdditionalProperties != nil {
		return of.AdditionalProperties.Schema
	}
	return nil
}

// ineffectiveKeywords returns a fault for each keyword that constrains values of another type; none without a type.
func ineffectiveKeywords(s *apiextensionsv1.JSONSchemaProps, kind string) (faults []error) {
	if kind == "" {
		return nil
	}
	for _, k := range []struct {
		keyword string
		set     bool
		of      []string
	}{
		{"minLength", s.MinLength != nil, []string{"string"}},
		{"maxLength", s.MaxLength != nil, []string{"string"}},
		{"pattern", s.Pattern != "", []string{"string"}},
		{"minimum", s.Minimum != nil, []string{"number", "integer"}},
		{"maximum", s.Maximum != nil, []string{"number", "integer"}},
		{"multipleOf", s.MultipleOf != nil, []string{"number", "integer"}},
		{"minItems", s.MinItems != nil, []string{"array"}},
		{"maxItems", s.MaxItems != nil, []string{"array"}},
		{"items", s.Items != nil, []string{"array"}},
		{"minProperties", s.MinProperties != nil, []string{"object"}},
		{"maxProperties", s.MaxProperties != nil, []string{"object"}},
		{"properties", len(s.Properties) > 0, []string{"object"}},
		{"additionalProperties", s.AdditionalProperties != nil, []string{"object"}},
		{"required", len(s.Required) > 0, []string{"object"}},
	} {
		if k.set && !slices.Contains(k.of, kind) {
			faults = append(faults, fmt.Errorf(".%s has no effect, because it is for values of the type %s and the type is %s: remove it, or correct the type", k.keyword, k.of[0], kind))
		}
	}
	return faults
}

// emptyRanges returns the limits that no value is between.
func emptyRanges(s *apiextensionsv1.JSONSchemaProps) (faults []error) {
	number := func(n *int64) *float64 {
		if n == nil {
			return nil
		}
		return new(float64(*n))
	}
	for _, r := range []struct {
		low, high string
		min, max  *float64
		open      bool
	}{
		{"minimum", "maximum", s.Minimum, s.Maximum, s.ExclusiveMinimum || s.ExclusiveMaximum},
		{"minLength", "maxLength", number(s.MinLength), number(s.MaxLength), false},
		{"minItems", "maxItems", number(s.MinItems), number(s.MaxItems), false},
		{"minProperties", "maxProperties", number(s.MinProperties), number(s.MaxProperties), false},
	} {
		if r.min != nil && r.max != nil && (*r.min > *r.max || r.open && *r.min == *r.max) {
			faults = append(faults, fmt.Errorf(".%s is %v and %s is %v: no value is between them", r.low, *r.min, r.high, *r.max))
		}
	}
	return faults
}

// impossibleValues returns the listed values that the rest of a schema excludes.
func impossibleValues(condition, of *apiextensionsv1.JSONSchemaProps) (faults []error) {
	rest := *of
	rest.AllOf, rest.AnyOf, rest.OneOf, rest.Not = nil, nil, nil, nil
	if condition == of {
		rest.Enum = nil
	}
	const value = "value"
	checker, err := structural.ForObjects(&apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{value: rest}})
	for i, v := range condition.Enum {
		if len(v.Raw) == 0 {
			faults = append(faults, fmt.Errorf(".enum[%d] is null, which the rest of the schema excludes: remove it, or add nullable: true", i))
			continue
		}
		var listed any
		if err == nil {
			err = jsonutil.UnmarshalCaseSensitivePreserveInts(v.Raw, &listed)
		}
		if err != nil {
			return append(faults, fmt.Errorf(".enum[%d]: %w", i, err))
		}
		if _, all := checker.Check(context.Background(), map[string]any{value: listed}); len(all) > 0 {
			why := cmp.Or(all[0].Detail, all[0].ErrorBody())
			faults = append(faults, fmt.Errorf(".enum[%d] is %.80s, which the rest of the schema excludes: %s", i, v.Raw, why))
		}
	}
	return faults
}

// unknownFields returns the required fields that an object cannot have.
func unknownFields(condition, of *apiextensionsv1.JSONSchemaProps) (faults []error) {
	if len(of.Properties) == 0 || of.AdditionalProperties != nil || of.XPreserveUnknownFields != nil {
		return nil
	}
	for _, name := range condition.Required {
		if _, ok := of.Properties[name]; !ok {
			faults = append(faults, fmt.Errorf(".required has %q, which is not one of properties: declare it there", name))
		}
	}
	return faults
}
