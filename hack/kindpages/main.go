// Command kindpages writes a page of docs/ for each kind: `go run ./hack/kindpages docs/kinds`.
//
// A page has what the CRD, the type and its doc.md say. docs/kinds/common.md has the fields that all kinds share.
package main

import (
	_ "embed"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fettle-dev/fettle/config/crd"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers"
)

var (
	//go:embed kind.md.tmpl
	kindSource string
	//go:embed common.md.tmpl
	commonSource string
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("kindpages: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: kindpages DIR")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(dir string) error {
	all, err := crd.All()
	if err != nil {
		return fmt.Errorf("cannot read the CRDs: %w", err)
	}
	specs := map[string]spec{}
	for _, c := range all {
		specs[c.Spec.Names.Kind] = spec{c.Spec.Names, c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]}
	}
	var pages []page
	for _, k := range providers.Kinds() {
		pages = append(pages, newPage(k.Describe(), k.Name(), specs[k.Name()]))
	}
	shared := shared(pages)
	for _, p := range pages {
		p.drop(shared)
		if err := write(filepath.Join(dir, strings.ToLower(p.Kind)+".md"), kindSource, p); err != nil {
			return err
		}
	}
	return write(filepath.Join(dir, "common.md"), commonSource, shared)
}

// A spec is what the CRD of a kind says.
type spec struct {
	names  apiextensionsv1.CustomResourceDefinitionNames
	schema apiextensionsv1.JSONSchemaProps
}

// A page describes a kind.
type page struct {
	Kind, Plural, ShortNames string
	Summary, Doc, Example    string
	Attributes               []attribute
	Features                 []resource.FeatureDoc
}

// An attribute is a field of spec.
type attribute struct {
	Name, Type, Role, Doc string
}

func newPage(d resource.Description, kind string, s spec) page {
	summary, doc, _ := strings.Cut(strings.TrimSpace(d.Doc), "\n")
	p := page{
		Kind: kind, Plural: s.names.Plural, ShortNames: strings.Join(s.names.ShortNames, ", "),
		Summary: summary, Doc: strings.TrimSpace(doc), Example: strings.TrimSpace(d.Example), Features: d.Features,
	}
	for _, a := range d.Attributes {
		p.Attributes = append(p.Attributes, attribute{Name: a.Name, Type: typeOf(s.schema.Properties[a.Name]), Role: role(a, d.Namevar), Doc: cell(docOf(a))})
		delete(s.schema.Properties, a.Name)
	}
	for _, name := range sorted(s.schema.Properties) {
		field := s.schema.Properties[name]
		p.Attributes = append(p.Attributes, attribute{Name: name, Type: typeOf(field), Role: "parameter", Doc: cell(sentence(name, field.Description))})
	}
	return p
}

func docOf(a resource.AttributeDoc) string {
	if a.Feature == "" {
		return a.Doc
	}
	return a.Doc + " Needs the feature `" + string(a.Feature) + "`."
}

func role(a resource.AttributeDoc, namevar string) string {
	switch {
	case a.Name == namevar:
		return "namevar"
	case a.ReadOnly:
		return "audit only"
	case a.Property:
		return "property"
	}
	return "parameter"
}

// typeOf is the type of a field in words. A field that only `audit` knows has none.
func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema) + "s"
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		return strings.Join(values, ", ")
	}
	return s.Type
}

// sentence returns the description of a field without the name that it begins with.
func sentence(name, description string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(description, name+" "), "is ")
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// cell returns text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(strings.TrimSpace(text))
}

func sorted(fields map[string]apiextensionsv1.JSONSchemaProps) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// shared returns the attributes that all pages have.
func shared(pages []page) []attribute {
	var all []attribute
	for _, a := range pages[0].Attributes {
		everywhere := func(p page) bool { return slices.Contains(p.Attributes, a) }
		if !slices.ContainsFunc(pages, func(p page) bool { return !everywhere(p) }) {
			all = append(all, a)
		}
	}
	return all
}

func (p *page) drop(shared []attribute) {
	p.Attributes = slices.DeleteFunc(p.Attributes, func(a attribute) bool { return slices.Contains(shared, a) })
}

func write(file, source string, data any) error {
	t, err := template.New(filepath.Base(file)).Parse(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cannot write a page: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("cannot write a page: %w", err)
	}
	return nil
}
