package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/fettle-dev/fettle/"

// importsOf returns the packages that the programs of a checkout are built from, and for each of them the packages of this
// module that it imports.
func importsOf(checkout fs.FS) (map[string][]string, error) {
	pending, err := fs.Glob(checkout, "cmd/*")
	if err != nil {
		return nil, err
	}
	pending = slices.DeleteFunc(pending, func(pkg string) bool { return pkg == "cmd/internal" }) // what they share
	all := map[string][]string{}
	for len(pending) > 0 {
		pkg := pending[0]
		pending = pending[1:]
		if _, done := all[pkg]; done {
			continue
		}
		if all[pkg], err = importsOfPackage(checkout, pkg); err != nil {
			return nil, err
		}
		pending = append(pending, all[pkg]...)
	}
	return all, nil
}

func importsOfPackage(checkout fs.FS, pkg string) ([]string, error) {
	files, err := fs.Glob(checkout, path.Join(pkg, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("cannot find the files of package %s", pkg)
	}
	var all []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		imports, err := importsOfFile(checkout, name)
		if err != nil {
			return nil, err
		}
		all = append(all, imports...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func importsOfFile(checkout fs.FS, name string) (all []string, err error) {
	text, err := fs.ReadFile(checkout, name)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if pkg, ours := strings.CutPrefix(imported, module); ours {
			all = append(all, pkg)
		}
	}
	return all, nil
}
