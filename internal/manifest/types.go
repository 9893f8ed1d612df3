package manifest

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/crdbuild"
	"github.com/fettle-dev/fettle/internal/external/defaults"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/text"
)

// externalType is the kind of types.
const externalType = "ExternalType"

// Types are external types without faults, each with its own name and kind. The zero value has none.
type Types struct{ all []declared }

// A declared type has all that its resources need.
type declared struct {
	*definition.Definition
	where    string
	schema   kindSchema
	defaults *defaults.Defaults
}

// ReadTypes reads sources that have only external types. Their definitions for a cluster are ignored.
func ReadTypes(ctx context.Context, all []source.Source) (Types, []Fault) {
	s := &Set{}
	parts := s.splitAll(ctx, all)
	s.declareAll(ctx, Types{}, parts)
	others := (&Set{Types: s.Types})
	others.addAll(ctx, parts, nil)
	s.Faults = append(s.Faults, others.Faults...)
	for _, d := range others.Documents {
		s.Faults = append(s.Faults, Fault{Where: d.Where(), Message: fmt.Sprintf("%s is among the types: only ExternalTypes are read there; apply it with -f", v1alpha1.RefOf(d.Resource))})
	}
	return s.Types, s.Faults
}

// Definitions returns the definitions of the types, in order.
func (t Types) Definitions() []*definition.Definition {
	var all []*definition.Definition
	for _, d := range t.all {
		all = append(all, d.Definition)
	}
	return all
}

// Of returns the definition of a kind, or nil.
func (t Types) Of(kind string) *definition.Definition {
	if d, ok := t.of(kind); ok {
		return d.Definition
	}
	return nil
}

func (t Types) of(kind string) (declared, bool) {
	i := slices.IndexFunc(t.all, func(d declared) bool { return d.Spec.Kind == kind })
	if i < 0 {
		return declared{}, false
	}
	return t.all[i], true
}

// addTo writes what identifies the types.
func (t Types) addTo(digest io.Writer) {
	for _, d := range t.all {
		_, _ = io.WriteString(digest, d.Digest) // a hash accepts every write
	}
}

// declareAll adds the types of documents to those that exist, before resources of them are read.
func (s *Set) declareAll(ctx context.Context, existing Types, parts []part) {
	b := batch{Set: Set{Types: Types{slices.Clone(existing.all)}}, schemas: allSchemas(), declaring: true}
	for _, p := range parts {
		if !bytes.Contains(p.text, []byte(externalType)) {
			continue
		}
		if o, err := read(p); err == nil { // otherwise, it is a fault when the resources are read
			b.add(ctx, o)
		}
	}
	s.Types, s.Faults = b.Types, append(s.Faults, b.Faults...)
}

// declare adds a type, and ignores all else.
func (b *batch) declare(ctx context.Context, o object, h head) {
	switch {
	case strings.HasSuffix(h.Kind, "List"):
		b.addList(ctx, o)
	case h.Kind == externalType && h.APIVersion == v1alpha1.GroupVersion.String():
		d, errs := b.declaration(ctx, o)
		if len(errs) > 0 {
			b.fault(o, h.other(), errs...)
			return
		}
		b.Types.all = append(b.Types.all, d...)
	}
}

// declaration checks a type like an API server and the compiler. It returns none if there is the same already.
func (b *batch) declaration(ctx context.Context, o object) ([]declared, []fieldError) {
	k, err := b.schemas[externalType]()
	if err != nil {
		return nil, []fieldError{{"", err.Error()}}
	}
	t := &v1alpha1.ExternalType{}
	errs, _ := check(ctx, o, k, t)
	if o.duplicates != nil {
		errs = append(errs, fieldError{"", o.duplicates.Error()})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	d := declared{where: b.where(o)}
	if d.Definition, err = definition.New(t); err == nil {
		err = d.compile()
	}
	if err != nil {
		return nil, fieldErrors(err)
	}
	return b.Types.without(d)
}

// without returns a type unless there is the same already, or why there cannot be both.
func (t Types) without(d declared) ([]declared, []fieldError) {
	for _, other := range t.all {
		switch {
		case other.Name == d.Name && other.Digest == d.Digest:
			return nil, nil
		case other.Name == d.Name:
			return nil, []fieldError{{"", fmt.Sprintf("is another one in %s: remove one of them", other.where)}}
		case other.Spec.Kind == d.Spec.Kind:
			return nil, []fieldError{{"spec.kind", fmt.Sprintf("ExternalType %s in %s defines %s, too: use another kind", other.Name, other.where, d.Spec.Kind)}}
		}
	}
	return []declared{d}, nil
}

// fieldErrors returns a fieldError for each joined error.
func fieldErrors(err error) []fieldError {
	var all []fieldError
	for _, line := range text.Errors(err) {
		all = append(all, fieldError{"", line})
	}
	return all
}

// compile prepares the checks of the resources.
func (d *declared) compile() error {
	built, err := crdbuild.Build(d.Definition)
	if err == nil {
		d.defaults, err = defaults.New(d.Definition, built)
	}
	if err == nil {
		d.schema, err = compile(built)
	}
	d.schema.namevar = externalNamevar(d.Definition)
	for i := range d.Spec.Attributes {
		if at := &d.Spec.Attributes[i]; at.Sensitive {
			d.schema.sensitive = append(d.schema.sensitive, "spec.properties."+at.Name)
		}
	}
	return err
}

// definesExternal reports whether an object is the definition of an external type for a cluster.
func definesExternal(h head) bool {
	name, _ := h.Metadata.Name.(string)
	return h.Kind == "CustomResourceDefinition" && strings.HasSuffix(name, "."+v1alpha1.ExternalGroupVersion.Group)
}

// addExternal adds a resource of an external type, with the defaults of its attributes. It is not in the cache, which
// need not know the types.
func (b *batch) addExternal(ctx context.Context, o object, h head) {
	b.cached.skip()
	d, known := b.Types.of(h.Kind)
	switch {
	case !v1alpha1.IsExternal(h.APIVersion):
		b.reject(o, h.other(), fieldError{"apiVersion", fmt.Sprintf("unknown version %s; use %s", h.APIVersion, v1alpha1.ExternalGroupVersion)})
		return
	case !known:
		b.reject(o, h.other(), fieldError{"kind", fmt.Sprintf("no ExternalType defines %s: add its type with -f or to --types-dir", h.Kind)})
		return
	case h.nameless():
		b.reject(o, subject{}, fieldError{"metadata.name", "is missing: give this " + h.Kind + " a name"})
		return
	}
	r := &v1alpha1.External{}
	d.schema.types = b.Types
	errs, tree := check(ctx, o, d.schema, r)
	if o.duplicates != nil {
		errs = append(errs, fieldError{"", o.duplicates.Error()})
	}
	if len(errs) == 0 {
		var err error
		if r, err = d.complete(r, tree); err != nil {
			errs = append(errs, fieldError{"spec", text.Error(err)})
		}
	}
	if len(errs) > 0 {
		b.reject(o, h.resource(), errs...)
		return
	}
	b.Documents = append(b.Documents, Document{b.line(o), o.file, o.path, r, o.text, o.line})
}

// complete returns a resource as an API server stores it, and with defaults.
func (d declared) complete(r *v1alpha1.External, stored map[string]any) (*v1alpha1.External, error) {
	spec, _ := stored["spec"].(map[string]any)
	if properties, ok := spec["properties"]; ok {
		raw, err := stdjson.Marshal(properties)
		if err != nil {
			return nil, err
		}
		r.Spec.Properties = &runtime.RawExtension{Raw: raw}
	}
	return d.defaults.Complete(r)
}
