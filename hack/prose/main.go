// Command prose checks the wording of docs, comments, messages and test names: `make verify-prose`.
//
// It reads the files below the present directory, or those given, and prints each habit that hack/prose/rules/rules.txt
// lists, with a better wording. It fails if there are any.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/hack/prose/rules"
	"github.com/fettle-dev/fettle/hack/prose/source"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("prose: ")
	file := flag.String("rules", "", "a file with other rules")
	flag.Parse()
	if err := run(os.Stdout, *file, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, rulesFile string, args []string) error {
	table, err := readRules(rulesFile)
	if err != nil {
		return err
	}
	names, err := list(args)
	if err != nil {
		return err
	}
	clean := true
	for _, name := range names {
		lines, err := check(table, name)
		if err != nil {
			return err
		}
		for _, l := range lines {
			fmt.Fprintln(out, l)
			clean = false
		}
	}
	if !clean {
		return errors.New("reword these, or correct hack/prose/rules/rules.txt where it is wrong")
	}
	return nil
}

func readRules(file string) ([]rules.Rule, error) {
	if file == "" {
		return rules.Default()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read rules: %w", err)
	}
	return rules.Parse(string(text))
}

// list returns the files with prose among those given, or below the present directory.
func list(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var names []string
	for _, arg := range args {
		err := filepath.WalkDir(arg, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && skipped(name):
				return fs.SkipDir
			case d.Type().IsRegular() && hasProse(name):
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot list files: %w", err)
		}
	}
	return names, nil
}

// skipped reports whether a folder contains data, build results, or this program, whose rules quote the
// habits.
func skipped(dir string) bool {
	return slices.Contains([]string{".git", "bin", "cover", "dist", "config/crd", "hack/prose"}, dir) || filepath.Base(dir) == "testdata"
}

func hasProse(name string) bool {
	return slices.Contains([]string{".go", ".md", ".sh", ".tmpl", ".yaml", ".yml"}, filepath.Ext(name)) || filepath.Base(name) == "Makefile"
}

// check returns a line for each finding in a file.
func check(table []rules.Rule, name string) ([]string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read a file: %w", err)
	}
	passages, err := source.Passages(name, content)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range passages {
		for _, f := range rules.Check(table, p.Text) {
			line := p.Line + strings.Count(p.Text[:f.Offset], "\n")
			lines = append(lines, fmt.Sprintf("%s:%d: %q: %s", name, line, f.Match, f.Advice))
		}
	}
	return lines, nil
}
