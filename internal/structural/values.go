package structural

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// values validates values by a schema without its rules. The validator of an API server does the same, but makes validators for
// the fields of each object anew.
type values struct {
	own        *validate.SchemaValidator // for all but the properties
	properties map[string]values
}

// valuesOf returns the validator of the values at a path.
func valuesOf(s spec.Schema, path string) (v values) {
	if s.AdditionalProperties == nil { // which depend on the names of the properties
		v.properties = make(map[string]values, len(s.Properties))
		for name, property := range s.Properties {
			below := name
			if path != "" {
				below = path + "." + name
			}
			v.properties[name] = valuesOf(property, below)
		}
		s.Properties = nil
	}
	v.own = validate.NewSchemaValidator(&s, nil, path, strfmt.Default)
	return v
}

// Validate implements [validation.SchemaCreateValidator].
func (v values) Validate(value any, options ...validation.ValidationOption) *validate.Result {
	result := v.own.Validate(value)
	if object, ok := value.(map[string]any); ok {
		for name, value := range object {
			if property, ok := v.properties[name]; ok {
				result.Merge(property.Validate(value, options...))
			}
		}
	}
	return result
}
