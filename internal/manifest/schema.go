package manifest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
)

// schemas are the compiled CRDs by kind. Each is compiled when it is first used. Safe for concurrent use.
type schemas map[string]func() (kindSchema, error)

type kindSchema struct {
	structural *schema.Structural
	open       validation.SchemaCreateValidator
	rules      *cel.Validator // nil: the kind has none
}

var allSchemas = sync.OnceValue(func() schemas {
	all := schemas{}
	for _, r := range v1alpha1.Resources() {
		kind := r.KindName()
		all[kind] = sync.OnceValues(func() (kindSchema, error) { return compileBuiltIn(kind) })
	}
	all[externalType] = sync.OnceValues(func() (kindSchema, error) { return compileBuiltIn(externalType) })
	return all
})

func compileBuiltIn(kind string) (kindSchema, error) {
	c, err := crd.Of(kind)
	if err != nil {
		return kindSchema{}, err
	}
	return compile(c)
}

func compile(c *apiextensionsv1.CustomResourceDefinition) (k kindSchema, err error) {
	kind := c.Spec.Names.Kind
	var props apiextensions.JSONSchemaProps
	v1 := c.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &props, nil); err != nil {
		return k, fmt.Errorf("cannot convert the schema of %s: %w", kind, err)
	}
	if k.structural, err = schema.NewStructural(&props); err != nil {
		return k, fmt.Errorf("cannot read the schema of %s: %w", kind, err)
	}
	if k.open, _, err = validation.NewSchemaValidator(&props); err != nil {
		return k, fmt.Errorf("cannot compile the schema of %s: %w", kind, err)
	}
	k.rules = cel.NewValidator(k.structural, true, celconfig.PerCallLimit)
	return k, nil
}

// check returns what an API server would reject in an object, except in its metadata.
// Like the server, it removes nulls and unknown fields from the object.
func (k kindSchema) check(ctx context.Context, object map[string]any) []flaw {
	var flaws []flaw
	defaulting.PruneNonNullableNullsWithoutDefaults(object, k.structural)
	track := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	for _, path := range pruning.PruneWithOptions(object, k.structural, true, track) {
		flaws = append(flaws, flaw{path, k.unknown(path)})
	}
	faults := validation.ValidateCustomResource(nil, object, k.open)
	faults = append(faults, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if k.rules != nil && !slices.ContainsFunc(faults, blocksRules) {
		more, _ := narrowed(*k.rules, object).Validate(ctx, nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
		faults = append(faults, more...)
	}
	mistyped := map[string]bool{}
	for _, f := range faults {
		mistyped[f.Field] = mistyped[f.Field] || f.Type == field.ErrorTypeTypeInvalid
	}
	for _, f := range faults {
		if f.Type == field.ErrorTypeTypeInvalid || !mistyped[f.Field] { // other faults follow from it
			flaws = append(flaws, k.flaw(f, object))
		}
	}
	return flaws
}

// blocksRules reports whether an API server skips the CEL rules after a fault, because they
// rely on the structure.
func blocksRules(f *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}, f.Type)
}

// narrowed returns a validator whose schema has only the fields of an object. The result is the same, because a rule
// sees no other fields. It is much faster: the validator copies the schemas of all fields each time that a rule
// reads one.
func narrowed(v cel.Validator, value any) *cel.Validator {
	object, ok := value.(map[string]any)
	if !ok || len(v.Schema.Properties) == 0 {
		return &v
	}
	narrow := *v.Schema
	narrow.Properties = maps.Clone(narrow.Properties)
	maps.DeleteFunc(narrow.Properties, func(name string, _ schema.Structural) bool {
		_, there := object[name]
		return !there
	})
	fields := make(map[string]cel.Validator, len(v.Properties))
	for name, of := range v.Properties {
		if value, there := object[name]; there {
			fields[name] = *narrowed(of, value)
		}
	}
	v.Schema, v.Properties = &narrow, fields
	return &v
}
