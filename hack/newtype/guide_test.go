//go:build rare

package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A block is one fenced block of a guide.
type block struct{ language, text string }

// The steps of CONTRIBUTING.md, exactly as written, create a type that is in all lists and passes its tests, the
// laws of types and the linter.
func TestTheGuideToAFirstTypeWorksAsWritten(t *testing.T) {
	t.Parallel()

	dir := copyCheckout(t)
	for _, b := range guide(t) {
		switch b.language {
		case "sh":
			run(t, dir, "bash", "-euc", commands(t, b.text))
		case "go":
			for _, f := range functions(t, b.text) {
				put(t, dir, f)
			}
		}
	}
	run(t, dir, "go", "test", "./api/...", "./internal/policytest", "./providers")
	if _, err := os.Stat(filepath.Join(dir, "config/crd/fettle.dev_sysctls.yaml")); err != nil {
		t.Errorf("the new type has no CRD: %v", err)
	}
	run(t, dir, "go", "tool", "-modfile=go.tools.mod", "golangci-lint", "run", "--allow-parallel-runners",
		"./api/...", "./providers", "./providers/sysctl")
}

// guide returns the code blocks in the last chapter of CONTRIBUTING.md, in order.
func guide(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, found := strings.Cut(string(text), "\n## Add your first type")
	if !found {
		t.Fatal("CONTRIBUTING.md has no chapter on a first type")
	}
	var blocks []block
	for _, m := range regexp.MustCompile("(?ms)^```(sh|go)\n(.*?)^```$").FindAllStringSubmatch(chapter, -1) {
		blocks = append(blocks, block{m[1], m[2]})
	}
	if len(blocks) < 5 {
		t.Fatalf("the guide has %d blocks", len(blocks))
	}
	return blocks
}

// commands returns the commands of a block, with temporary directories of the test. `make verify` is
// reduced to the checks that a new type could fail.
func commands(t *testing.T, text string) string {
	t.Helper()
	text = strings.ReplaceAll(text, "/tmp/", t.TempDir()+"/")
	return strings.ReplaceAll(text, "make verify\n", "make verify-generated verify-modules verify-prose\n")
}

// A function is the source of a function with its comment, and its unique name in the file.
type function struct{ name, text string }

func functions(t *testing.T, text string) []function {
	t.Helper()
	const header = "package p\n\n"
	syntax, err := parser.ParseFile(token.NewFileSet(), "", header+text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var all []function
	for _, d := range syntax.Decls {
		from, to := span(d.(*ast.FuncDecl))
		all = append(all, function{nameOf(d.(*ast.FuncDecl)), (header + text)[from:to]})
	}
	return all
}

// span returns the start of a function, including its comment, and its end.
func span(f *ast.FuncDecl) (from, to token.Pos) {
	if f.Doc != nil {
		return f.Doc.Pos() - 1, f.End() - 1
	}
	return f.Pos() - 1, f.End() - 1
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return fmt.Sprintf("(%s).%s", f.Recv.List[0].Type, f.Name.Name)
}

// put replaces the function of the same name in the type's files, or adds it to the provider's file.
func put(t *testing.T, dir string, f function) {
	t.Helper()
	for _, name := range []string{"native.go", "sysctl_test.go"} {
		file := filepath.Join(dir, "providers/sysctl", name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(syntax.Decls, func(d ast.Decl) bool {
			other, ok := d.(*ast.FuncDecl)
			return ok && nameOf(other) == f.name
		})
		if i >= 0 {
			from, to := span(syntax.Decls[i].(*ast.FuncDecl))
			write(t, file, string(text[:from])+f.text+string(text[to:]))
			return
		}
	}
	file := filepath.Join(dir, "providers/sysctl/native.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text)+"\n"+f.text+"\n")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
