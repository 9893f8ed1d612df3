package crdbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	jsonutil "sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/external/valueschema"
)

// attributesOf returns the schema of the properties.
func attributesOf(d *definition.Definition) (apiextensionsv1.JSONSchemaProps, error) {
	all := apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: "properties are the attributes. An absent attribute is not managed.",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{},
	}
	var faults []error
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		if at.Behaviour == v1alpha1.BehaviourReadOnly {
			continue // nobody can set it
		}
		schema, err := schemaOf(at)
		if err != nil {
			faults = append(faults, fmt.Errorf("spec.attributes[%s].schema%w", at.Name, err))
		}
		all.Properties[at.Name] = schema
		if at.Behaviour == v1alpha1.BehaviourNamevar && at.Required && at.Default == "" {
			all.Required = append(all.Required, at.Name)
		}
	}
	return all, errors.Join(faults...)
}

// schemaOf decodes the schema of an attribute. The error begins after the name of the schema.
func schemaOf(at *v1alpha1.ExternalAttribute) (s apiextensionsv1.JSONSchemaProps, err error) {
	structural, err := valueschema.Structural(at.Schema.Raw)
	if err != nil {
		return s, err
	}
	strict, err := jsonutil.UnmarshalStrict(structural, &s)
	if err != nil {
		return s, fmt.Errorf(": %w", err)
	}
	if len(strict) > 0 {
		return s, fmt.Errorf(": %w", errors.Join(strict...))
	}
	if err := restrict(&s, at.Sensitive); err != nil {
		return s, err
	}
	s.Description = describe(at)
	return s, nil
}

// describe returns the documentation of an attribute for kubectl explain.
func describe(at *v1alpha1.ExternalAttribute) string {
	text := at.Description
	switch at.Behaviour {
	case v1alpha1.BehaviourNamevar:
		text += " It identifies the object."
	case v1alpha1.BehaviourInitOnly:
		text += " It can only be set when the object is created."
	case v1alpha1.BehaviourProperty, v1alpha1.BehaviourParameter, v1alpha1.BehaviourReadOnly:
	}
	if at.Default != "" {
		text += " Defaults to the value of the expression " + at.Default + "."
	}
	return text
}

// restrict rejects what would make an API server change resources, and marks the text of sensitive attributes.
func restrict(s *apiextensionsv1.JSONSchemaProps, sensitive bool) error {
	if s.Default != nil {
		return errors.New(".default is not available, because it would be added to resources: use the default of the attribute")
	}
	if sensitive && (s.Type == "string" || s.Type == "") {
		s.Format = "password"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		if err := restrict(&field, sensitive); err != nil {
			return fmt.Errorf(".properties[%s]%w", name, err)
		}
		s.Properties[name] = field
	}
	return restrictElements(s, sensitive)
}

// restrictElements restricts the elements of a list or map.
func restrictElements(s *apiextensionsv1.JSONSchemaProps, sensitive bool) error {
	if s.Items != nil && s.Items.Schema != nil {
		if err := restrict(s.Items.Schema, sensitive); err != nil {
			return fmt.Errorf(".items%w", err)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		if err := restrict(s.AdditionalProperties.Schema, sensitive); err != nil {
			return fmt.Errorf(".additionalProperties%w", err)
		}
	}
	return nil
}

// secret returns the attributes whose values can come from Secrets.
func secret(d *definition.Definition) []string {
	var names []string
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		if d.CanBeSecret(at) {
			names = append(names, at.Name)
		}
	}
	return names
}

// rules returns the rules that need several fields.
//
// A required attribute is a rule rather than a requirement of the schema, because a resource that is absent or whose value
// comes from a Secret does not need it. If the attribute has a default, the compiler checks that there is a value,
// because an API server computes none. A Namevar is always required, and never secret.
func rules(d *definition.Definition, attributes apiextensionsv1.JSONSchemaProps) apiextensionsv1.ValidationRules {
	var all apiextensionsv1.ValidationRules
	fromSecrets := secret(d)
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		canBeSecret := slices.Contains(fromSecrets, at.Name)
		if ruled(at) && visible(attributes, at) {
			all = append(all, required(d, at.Name, canBeSecret))
		}
		if canBeSecret {
			all = append(all, apiextensionsv1.ValidationRule{
				Rule:    fmt.Sprintf("!(%s && %s)", isSet(at.Name), isSecret(at.Name)),
				Message: fmt.Sprintf("%s is in properties and in propertiesFrom: set only one", at.Name),
				Reason:  new(apiextensionsv1.FieldValueInvalid), FieldPath: ".propertiesFrom",
			})
		}
	}
	return all
}

// ruled reports whether an attribute is required by a rule.
func ruled(at *v1alpha1.ExternalAttribute) bool {
	return at.Required && at.Default == "" && at.Behaviour != v1alpha1.BehaviourNamevar
}

// visible reports whether rules see an attribute with all its values: one of several types is visible to them only if these are
// integers and text, and null is not.
func visible(attributes apiextensionsv1.JSONSchemaProps, at *v1alpha1.ExternalAttribute) bool {
	s := attributes.Properties[at.Name]
	return (s.Type != "" || s.XIntOrString) && !s.Nullable
}

// requirements returns the conditions that require attributes that no rule sees.
func requirements(d *definition.Definition, attributes apiextensionsv1.JSONSchemaProps) (all []apiextensionsv1.JSONSchemaProps) {
	for i := range d.Spec.Attributes {
		at := &d.Spec.Attributes[i]
		if !ruled(at) || visible(attributes, at) {
			continue
		}
		set := apiextensionsv1.JSONSchemaProps{Required: []string{at.Name}}
		absent := apiextensionsv1.JSONSchemaProps{Enum: enum([]string{"absent"})}
		all = append(all, apiextensionsv1.JSONSchemaProps{AnyOf: []apiextensionsv1.JSONSchemaProps{
			{Required: []string{properties}, Properties: map[string]apiextensionsv1.JSONSchemaProps{properties: set}},
			{Required: []string{ensure}, Properties: map[string]apiextensionsv1.JSONSchemaProps{ensure: absent}},
		}})
	}
	return all
}

func required(d *definition.Definition, name string, canBeSecret bool) apiextensionsv1.ValidationRule {
	holds := []string{isSet(name), "has(self.ensure) && self.ensure == 'absent'"}
	if canBeSecret {
		holds = append(holds, isSecret(name))
	}
	return apiextensionsv1.ValidationRule{
		Rule:    strings.Join(holds, " || "),
		Message: fmt.Sprintf("properties.%s is missing: %s requires it unless ensure is absent", name, d.Spec.Kind),
		Reason:  new(apiextensionsv1.FieldValueRequired), FieldPath: ".properties",
	}
}

func isSet(name string) string {
	return fmt.Sprintf("has(self.properties) && has(self.properties.%s)", escaped(name))
}

func isSecret(name string) string {
	return fmt.Sprintf("has(self.propertiesFrom) && self.propertiesFrom.exists(p, p.name == '%s')", name)
}

// escaped returns the name of a field as expressions of Kubernetes write it.
func escaped(name string) string {
	reserved := strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")
	if slices.Contains(reserved, name) {
		return "__" + name + "__"
	}
	return strings.ReplaceAll(name, "__", "__underscores__")
}

func enum(values []string) []apiextensionsv1.JSON {
	all := make([]apiextensionsv1.JSON, len(values))
	for i, v := range values {
		raw, _ := json.Marshal(v) //nolint:errchkjson // a string
		all[i] = apiextensionsv1.JSON{Raw: raw}
	}
	return all
}
