package resourcetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// definition has the laws of a type's definition, which need no host.
type definition[A any] struct{ typ *resource.Type[A] }

func (d definition[A]) hasNoProblem(context.Context, *testing.T) error {
	return errors.Join(bound.Kind(d.typ).Problems(), checkMethods(d.typ))
}

// documentsAttributes compares the names in the Go struct, and therefore in the CRD, with those
// that the type declares.
func (d definition[A]) documentsAttributes(context.Context, *testing.T) error {
	declared := map[string]bool{}
	var errs []error
	for _, a := range bound.Kind(d.typ).Describe().Attributes {
		if a.ReadOnly {
			continue
		}
		if declared[a.Name] {
			errs = append(errs, fmt.Errorf("%s is declared twice", a.Name))
		}
		if a.Doc == "" {
			errs = append(errs, fmt.Errorf("%s has no doc", a.Name))
		}
		declared[a.Name] = true
	}
	for _, name := range jsonFields(reflect.TypeFor[A]()) {
		if !declared[name] {
			errs = append(errs, fmt.Errorf("the attribute %s is neither the namevar nor a property nor a parameter", name))
		}
		delete(declared, name)
	}
	for name := range declared {
		errs = append(errs, fmt.Errorf("%s is declared but is not an attribute", name))
	}
	return errors.Join(errs...)
}

// jsonFields returns the names that encoding/json uses for the fields of a struct.
func jsonFields(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			names = append(names, jsonFields(f.Type)...)
		default:
			names = append(names, name)
		}
	}
	return names
}

func (d definition[A]) exampleBinds(context.Context, *testing.T) error {
	docs, err := documents(d.typ.Example)
	if err != nil {
		return err
	}
	bound := 0
	for _, doc := range docs {
		ok, err := d.bind(doc)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, doc)
		}
		if ok {
			bound++
		}
	}
	if bound == 0 {
		return fmt.Errorf("the example has no resource of kind %s", d.typ.Name)
	}
	return nil
}

// bind decodes a manifest like the API server and the compiler. ok is false if it is of another
// kind.
func (d definition[A]) bind(doc []byte) (ok bool, err error) {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return false, err
	}
	if want := v1alpha1.GroupVersion.String(); head.APIVersion != want {
		return false, fmt.Errorf("apiVersion is %q, want %q", head.APIVersion, want)
	}
	kinds := v1alpha1.Resources()
	i := slices.IndexFunc(kinds, func(r v1alpha1.Resource) bool { return r.KindName() == head.Kind })
	if i < 0 {
		return false, fmt.Errorf("the API has no kind %q", head.Kind)
	}
	if err := yaml.UnmarshalStrict(doc, kinds[i]); err != nil {
		return false, err
	}
	if head.Kind != d.typ.Name {
		return false, nil
	}
	attributes, err := json.Marshal(kinds[i].GetAttributes())
	if err != nil {
		return false, err
	}
	_, err = bound.Kind(d.typ).Bind(resource.Ref{Kind: head.Kind, Name: kinds[i].GetName()}, attributes)
	return true, err
}

// documents splits YAML at its --- lines.
func documents(text string) (docs [][]byte, err error) {
	r := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// normalization has the law of a type's Normalize function.
type normalization[A any] struct {
	typ *resource.Type[A]
	c   Case
}

func (n normalization[A]) isIdempotent(context.Context, *testing.T) error {
	if n.typ.Normalize == nil {
		return nil
	}
	for _, text := range n.c.states() {
		var a A
		if err := yaml.Unmarshal([]byte(text), &a); err != nil {
			return err
		}
		n.typ.Normalize(&a)
		once, err := json.Marshal(a)
		if err != nil {
			return err
		}
		n.typ.Normalize(&a)
		twice, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if string(once) != string(twice) {
			return fmt.Errorf("normalized once: %s\ntwice: %s", once, twice)
		}
	}
	return nil
}
