package scaffold

import (
	"fmt"
	"go/format"
	"io/fs"
	"slices"
	"strings"
)

// change edits the files that list all types.
func change(checkout fs.FS, n names) ([]File, error) {
	files := []File{{Path: "providers/registry.go"}, {Path: "PROJECT"}}
	for i, edit := range []func(string, names) (string, error){register, enlist} {
		text, err := fs.ReadFile(checkout, files[i].Path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the list of types: %w", err)
		}
		if files[i].Content, err = edit(string(text), n); err != nil {
			return nil, fmt.Errorf("cannot add %s to %s: %w", n.Kind, files[i].Path, err)
		}
	}
	return files, nil
}

// register adds the type to the registry and imports its package.
func register(registry string, n names) (string, error) {
	registry, err := insert(registry, "import (\n", "\n)", "\t\"github.com/fettle-dev/fettle/providers/"+n.Package+`"`)
	if err != nil {
		return "", err
	}
	registry, err = insert(registry, "return []resource.Kind{\n", "\n\t}", "\t\tbound.Kind("+n.Package+".Type()),")
	if err != nil {
		return "", err
	}
	formatted, err := format.Source([]byte(registry))
	return string(formatted), err
}

// insert adds a line to the block between two markers: to its last group of lines, which it sorts. In
// imports, this is the group of this module.
func insert(text, from, to, line string) (string, error) {
	before, rest, ok := strings.Cut(text, from)
	block, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		return "", fmt.Errorf("no block begins with %q; add %q by hand", strings.TrimSpace(from), strings.TrimSpace(line))
	}
	others, last := "", block
	if i := strings.LastIndex(block, "\n\n"); i >= 0 {
		others, last = block[:i+2], block[i+2:]
	}
	lines := append(strings.Split(last, "\n"), line)
	slices.Sort(lines)
	return before + from + others + strings.Join(lines, "\n") + to + after, nil
}

// enlist adds the kind at the end of kubebuilder's list.
func enlist(project string, n names) (string, error) {
	const end = "version: \"3\"\n"
	resources, ok := strings.CutSuffix(project, end)
	if !ok {
		return "", fmt.Errorf("it does not end with %q", strings.TrimSpace(end))
	}
	return resources + `- api:
    crdVersion: v1
  domain: dev
  group: fettle
  kind: ` + n.Kind + `
  path: github.com/fettle-dev/fettle/api/v1alpha1
  version: v1alpha1
` + end, nil
}
