package manifest

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/json"

	"github.com/fettle-dev/fettle/config/crd"
)

// A Schema is what the CRDs ask of every kind. Safe for concurrent use.
type Schema struct{ kinds map[string]kindSchema }

type kindSchema struct {
	structural *schema.Structural
	open       validation.SchemaCreateValidator
	rules      *cel.Validator
}

// NewSchema compiles the CRDs that this program was built with.
func NewSchema() (*Schema, error) {
	all, err := crd.All()
	if err != nil {
		return nil, err
	}
	s := &Schema{kinds: map[string]kindSchema{}}
	for _, c := range all {
		if s.kinds[c.Spec.Names.Kind], err = compile(c); err != nil {
			return nil, fmt.Errorf("cannot compile the schema of %s: %w", c.Spec.Names.Kind, err)
		}
	}
	return s, nil
}

func compile(c *apiextensionsv1.CustomResourceDefinition) (kindSchema, error) {
	var props apiextensions.JSONSchemaProps
	v1 := c.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &props, nil); err != nil {
		return kindSchema{}, err
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		return kindSchema{}, err
	}
	open, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return kindSchema{}, err
	}
	return kindSchema{structural, open, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Validate says what an API server would say against a document: a line for each
// fault, with the field, the value and what it must be.
func (s *Schema) Validate(ctx context.Context, d Document) []error {
	k := s.kinds[d.Resource.KindName()]
	var object map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(d.JSON(), &object); err != nil { // to the schema 1 is no 1.0
		return []error{fmt.Errorf("%s: %w", d.Source, err)}
	}
	faults := validation.ValidateCustomResource(nil, object, k.open)
	for _, msg := range apivalidation.NameIsDNSSubdomain(d.Resource.GetName(), false) {
		faults = append(faults, field.Invalid(field.NewPath("metadata", "name"), d.Resource.GetName(), msg))
	}
	faults = append(faults, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if k.rules != nil && !slices.ContainsFunc(faults, blocksRules) {
		more, _ := k.rules.Validate(ctx, nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
		faults = append(faults, more...)
	}
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = fmt.Errorf("%s: %s/%s: %w", d.Source, d.Resource.KindName(), d.Resource.GetName(), f)
	}
	return errs
}

// blocksRules reports whether a fault keeps an API server from trying the rules, which
// rely on the shape.
func blocksRules(f *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}, f.Type)
}
