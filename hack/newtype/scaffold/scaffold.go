// Package scaffold writes the files of a new resource type.
//
// [Plan] computes the content of all files; [Write] writes them.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// A File is the content of a file. Path is relative to the checkout.
type File struct {
	Path, Content string
}

// names are the forms of a kind's name.
type names struct {
	Kind    string // Sysctl
	Package string // sysctl: folder, package, short name
	Plural  string // Sysctls
}

// Plan returns the files to write for a kind, the modified ones last. It fails if
// the kind's name is invalid, or if any of its files already exists.
func Plan(checkout fs.FS, kind string) ([]File, error) {
	n, err := name(kind)
	if err != nil {
		return nil, err
	}
	created, err := create(checkout, n)
	if err != nil {
		return nil, err
	}
	changed, err := change(checkout, n)
	if err != nil {
		return nil, err
	}
	return append(created, changed...), nil
}

func name(kind string) (names, error) {
	if !regexp.MustCompile(`^[A-Z][A-Za-z0-9]{1,40}$`).MatchString(kind) {
		return names{}, fmt.Errorf("invalid kind %q: use CamelCase letters and digits, such as Sysctl", kind)
	}
	if strings.HasSuffix(kind, "List") {
		return names{}, fmt.Errorf("invalid kind %q: a name that ends in List denotes a list", kind)
	}
	return names{Kind: kind, Package: strings.ToLower(kind), Plural: plural(kind)}, nil
}

// plural is for prose only; controller-gen determines the resource name in URLs.
func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s"), strings.HasSuffix(kind, "x"), strings.HasSuffix(kind, "ch"):
		return kind + "es"
	case regexp.MustCompile(`[^aeiou]y$`).MatchString(kind):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// create fills in the templates.
func create(checkout fs.FS, n names) ([]File, error) {
	dir := "providers/" + n.Package + "/"
	files := []File{
		{"api/v1alpha1/" + n.Package + "_types.go", "types.go.tmpl"},
		{dir + n.Package + ".go", "type.go.tmpl"},
		{dir + "native.go", "native.go.tmpl"},
		{dir + n.Package + "_test.go", "type_test.go.tmpl"},
		{dir + "doc.md", "doc.md.tmpl"},
		{dir + "example.yaml", "example.yaml.tmpl"},
		{"config/samples/" + n.Package + ".yaml", "example.yaml.tmpl"},
		{"config/samples/invalid/" + n.Package + "-name-is-path.yaml", "invalid.yaml.tmpl"},
	}
	all, err := template.ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("cannot read templates: %w", err)
	}
	for i, f := range files {
		if _, err := fs.Stat(checkout, f.Path); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("kind %s already exists in %s: choose another name, or remove it first", n.Kind, f.Path)
		}
		if files[i].Content, err = fill(all.Lookup(f.Content), n); err != nil {
			return nil, fmt.Errorf("cannot fill in %s: %w", f.Content, err)
		}
	}
	return files, nil
}

// fill fills in a template, and formats it if it is Go.
func fill(t *template.Template, n names) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, n); err != nil {
		return "", err
	}
	if !strings.HasSuffix(t.Name(), ".go.tmpl") {
		return b.String(), nil
	}
	formatted, err := format.Source(b.Bytes())
	return string(formatted), err
}

// Write writes the files below root, with the folders that they need.
func Write(root string, files []File) error {
	for _, f := range files {
		path := filepath.Join(root, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("cannot make a folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(f.Content), 0o644); err != nil {
			return fmt.Errorf("cannot write: %w", err)
		}
	}
	return nil
}
