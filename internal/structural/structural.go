// Package structural checks values by the structural schemas of CustomResourceDefinitions, with the code of API servers.
package structural

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// A Schema is a compiled schema. Safe for concurrent use.
type Schema struct {
	Tree      *schema.Structural // never changed
	root      bool               // of whole resources
	values    values
	rules     *rules
	validator func() *cel.Validator // of the rules
}

// ForResources compiles the schema of whole resources.
func ForResources(s *apiextensionsv1.JSONSchemaProps) (*Schema, error) { return compile(s, true) }

// ForObjects compiles the schema of objects that are a part of resources.
func ForObjects(s *apiextensionsv1.JSONSchemaProps) (*Schema, error) { return compile(s, false) }

func compile(s *apiextensionsv1.JSONSchemaProps, root bool) (*Schema, error) {
	c := &Schema{root: root}
	var props apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, &props, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot convert the schema: %w", err)
	}
	if c.Tree, err = schema.NewStructural(&props); err != nil {
		return nil, fmt.Errorf("cannot read the schema: %w", err)
	}
	_, open, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, fmt.Errorf("cannot compile the schema: %w", err)
	}
	c.values = valuesOf(*open, "")
	c.rules = rulesOf(c.Tree, root, model.SchemaDeclType(c.Tree, root))
	c.validator = sync.OnceValue(func() *cel.Validator { return cel.NewValidator(c.Tree, root, celconfig.PerCallLimit) })
	return c, nil
}

// Check returns what an API server would reject in an object, except in its metadata, and the paths of unknown fields.
// Like the server, it removes nulls and unknown fields from the object.
func (s *Schema) Check(ctx context.Context, object map[string]any) (unknown []string, faults field.ErrorList) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.Tree)
	unknown = pruning.PruneWithOptions(object, s.Tree, s.root, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	all := validation.ValidateCustomResource(nil, object, s.values)
	all = append(all, listtype.ValidateListSetsAndMaps(nil, s.Tree, object)...)
	if !slices.ContainsFunc(all, blocksRules) && !s.rules.hold(ctx, object, new(int64(celconfig.RuntimeCELCostBudget))) {
		more, _ := s.validator().Validate(ctx, nil, s.Tree, object, nil, celconfig.RuntimeCELCostBudget)
		all = append(all, more...)
	}
	mistyped := map[string]bool{}
	for _, f := range all {
		mistyped[f.Field] = mistyped[f.Field] || f.Type == field.ErrorTypeTypeInvalid
	}
	for _, f := range all {
		if f.Type == field.ErrorTypeTypeInvalid || !mistyped[f.Field] { // other faults follow from it
			faults = append(faults, f)
		}
	}
	return unknown, faults
}

// blocksRules reports whether an API server skips the CEL rules after a fault, because they
// rely on the structure.
func blocksRules(f *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}, f.Type)
}
