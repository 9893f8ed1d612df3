// Command kinds generates what every resource kind of the API shares in code.
//
// It reads the marker +fettle:kind in *_types.go of the folder it is run in and
// writes zz_generated.kinds.go, so that a new kind needs no other hand-written line
// there than its types.
package main

import (
	"bytes"
	_ "embed"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed kinds.go.tmpl
var source string

// A kind is one type with the marker.
type kind struct {
	Name       string
	HasContent bool // its spec inlines ContentOrigin
}

func main() {
	log.SetFlags(0)
	kinds, err := find(".")
	if err != nil {
		log.Fatalf("kinds: cannot read the API types: %v", err)
	}
	if err := write("zz_generated.kinds.go", kinds); err != nil {
		log.Fatalf("kinds: cannot write: %v", err)
	}
}

// find returns the marked kinds, in the order of their files.
func find(dir string) ([]kind, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_types.go"))
	if err != nil {
		return nil, err
	}
	var kinds []kind
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, inFile(f)...)
	}
	return kinds, nil
}

func inFile(f *ast.File) []kind {
	var kinds []kind
	content := map[string]bool{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		t := g.Specs[0].(*ast.TypeSpec)
		content[t.Name.Name] = embeds(t, "ContentOrigin")
		if strings.Contains(comments(g), "+fettle:kind\n") {
			kinds = append(kinds, kind{Name: t.Name.Name})
		}
	}
	for i := range kinds {
		kinds[i].HasContent = content[kinds[i].Name+"Spec"]
	}
	return kinds
}

func comments(g *ast.GenDecl) string {
	var b strings.Builder
	if g.Doc == nil {
		return ""
	}
	for _, c := range g.Doc.List {
		b.WriteString(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")) + "\n")
	}
	return b.String()
}

func embeds(t *ast.TypeSpec, name string) bool {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return false
	}
	for _, f := range s.Fields.List {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 && id.Name == name {
			return true
		}
	}
	return false
}

func write(file string, kinds []kind) error {
	var b bytes.Buffer
	if err := template.Must(template.New("kinds").Parse(source)).Execute(&b, kinds); err != nil {
		return err
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(file, out, 0o644)
}
