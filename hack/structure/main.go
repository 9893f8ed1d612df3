// Command structure measures how this module is put together: `make structure`.
//
// Without arguments it prints a row for each package (its files, their lines, the references between its
// files, and how many of them run back up), and then the imports that break the layers. With packages
// as arguments it prints their rows and each reference that runs back up. With -check it prints only
// problems, and fails if there are any.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"

	"github.com/fettle-dev/fettle/hack/structure/files"
	"github.com/fettle-dev/fettle/hack/structure/layers"
)

// maxFiles is how many files a package may have beside tests and generated files: enough that nobody splits a file or a
// package only because of it. The API's package is
// exempt: each kind is a file there.
const (
	maxFiles = 20
	exempt   = "api/v1alpha1"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("structure: ")
	check := flag.Bool("check", false, "print problems only, and fail if there are any")
	dir := flag.String("C", ".", "the directory of the module")
	flag.Parse()

	if err := run(os.Stdout, *dir, flag.Args(), *check); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, dir string, patterns []string, check bool) error {
	all := len(patterns) == 0
	if all {
		patterns = []string{"./..."}
	}
	pkgs, err := load(dir, patterns)
	if err != nil {
		return err
	}
	if !check {
		if err := printTable(out, pkgs); err != nil {
			return err
		}
	}
	if !all {
		printBackUp(out, pkgs)
		return nil
	}
	found := problems(pkgs)
	for _, p := range found {
		fmt.Fprintln(out, p)
	}
	if check && len(found) > 0 {
		return errors.New("the structure has problems")
	}
	return nil
}

// A measured package has its path relative to the module.
type measured struct {
	path    string
	imports []string
	files.Figures
}

func load(dir string, patterns []string) ([]measured, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: files.Mode | packages.NeedModule, Dir: dir}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("cannot load packages: %w", err)
	}
	var all []measured
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("cannot load %s: %w", p.PkgPath, p.Errors[0])
		}
		if len(p.Syntax) == 0 {
			continue // it has only tests
		}
		m := measured{path: relative(p, p.PkgPath), Figures: files.Measure(p)}
		for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
			if i := p.Imports[path]; i.Module != nil && i.Module.Path == p.Module.Path {
				m.imports = append(m.imports, relative(p, path))
			}
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b measured) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

func relative(p *packages.Package, path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, p.Module.Path), "/")
}

func printTable(out io.Writer, pkgs []measured) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "files\tlines\treferences\tback up\t  package")
	for _, p := range pkgs {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s\n", p.Files, p.Lines, len(p.References), len(p.BackUp), p.path)
	}
	return w.Flush()
}

func printBackUp(out io.Writer, pkgs []measured) {
	for _, p := range pkgs {
		for _, r := range p.BackUp {
			fmt.Fprintf(out, "%s: %s refers back up to %s\n", p.path, r.From, r.To)
		}
	}
}

// problems lists what -check fails for.
func problems(pkgs []measured) []string {
	var all []string
	imports := map[string][]string{}
	for _, p := range pkgs {
		imports[p.path] = p.imports
		if p.Files > maxFiles && p.path != exempt {
			all = append(all, fmt.Sprintf("package %s has %d files beside tests, at most %d are allowed: move an idea into a package of its own", p.path, p.Files, maxFiles))
		}
	}
	all = append(all, layers.Default().Problems(imports)...)
	for _, c := range layers.Cycles(imports) {
		all = append(all, "the folders import each other in a cycle: "+strings.Join(c, ", "))
	}
	return all
}
