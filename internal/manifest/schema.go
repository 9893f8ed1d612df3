package manifest

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/internal/structural"
)

// schemas are the compiled CRDs by kind. Each is compiled when it is first used. Safe for concurrent use.
type schemas map[string]func() (kindSchema, error)

// A kindSchema is the schema of a kind.
type kindSchema struct {
	*structural.Schema
	kind      string
	namevar   string   // the field for the name on the host, such as spec.name; "" for none
	types     Types    // that references may name, besides the built-in kinds
	sensitive []string // fields whose values must not be shown, besides those that are passwords
}

var allSchemas = sync.OnceValue(func() schemas {
	all := schemas{}
	for _, r := range v1alpha1.Resources() {
		kind := r.KindName()
		all[kind] = sync.OnceValues(func() (kindSchema, error) { return compileBuiltIn(kind) })
	}
	for _, kind := range []string{externalType, rolloutPolicy} {
		all[kind] = sync.OnceValues(func() (kindSchema, error) { return compileBuiltIn(kind) })
	}
	return all
})

func compileBuiltIn(kind string) (kindSchema, error) {
	c, err := crd.Of(kind)
	if err != nil {
		return kindSchema{}, err
	}
	k, err := compile(c)
	if err == nil {
		k.namevar = k.namevarOf()
	}
	return k, err
}

func compile(c *apiextensionsv1.CustomResourceDefinition) (kindSchema, error) {
	s, err := structural.ForResources(c.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		return kindSchema{}, fmt.Errorf("%s: %w", c.Spec.Names.Kind, err)
	}
	return kindSchema{Schema: s, kind: c.Spec.Names.Kind}, nil
}

// check returns what an API server would reject in an object, except in its metadata.
// Like the server, it removes nulls and unknown fields from the object.
func (k kindSchema) check(ctx context.Context, object map[string]any) []fieldError {
	var errs []fieldError
	unknown, faults := k.Check(ctx, object)
	for _, path := range firstOf(unknown) {
		errs = append(errs, fieldError{path, k.unknown(path)})
	}
	for _, f := range firstOf(faults) {
		if references := k.foreignReferences(f, object); references != nil {
			errs = append(errs, references...)
		} else {
			errs = append(errs, k.reword(f, object))
		}
	}
	return errs
}
