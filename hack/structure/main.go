// Command structure measures how this module is put together: `make structure`.
//
// Without arguments it prints a row for each package: its files, their lines, the references between its
// files, and how many of them run back up. With packages as arguments it prints their rows and each
// reference that runs back up. The figures judge nothing: they show where to read.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"

	"github.com/fettle-dev/fettle/hack/structure/files"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("structure: ")
	dir := flag.String("C", ".", "the directory of the module")
	flag.Parse()

	if err := run(os.Stdout, *dir, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, dir string, patterns []string) error {
	all := len(patterns) == 0
	if all {
		patterns = []string{"./..."}
	}
	pkgs, err := load(dir, patterns)
	if err != nil {
		return err
	}
	if err := printTable(out, pkgs); err != nil {
		return err
	}
	if !all {
		printBackUp(out, pkgs)
	}
	return nil
}

// A measured package has its path relative to the module.
type measured struct {
	path string
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
		path := strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, p.Module.Path), "/")
		all = append(all, measured{path, files.Measure(p)})
	}
	slices.SortFunc(all, func(a, b measured) int { return strings.Compare(a.path, b.path) })
	return all, nil
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
