package policytest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// checkout returns the root of the repository.
func checkout() fs.FS {
	return os.DirFS("../..")
}

// A source is a Go file of this module.
type source struct {
	path   string // relative to the root
	syntax *ast.File
	file   *token.File
}

func (s source) dir() string     { return path.Dir(s.path) }
func (s source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool { return ast.IsGenerated(s.syntax) }

// lines returns the number of lines of a node.
func (s source) lines(n ast.Node) int {
	return s.file.Line(n.End()) - s.file.Line(n.Pos()) + 1
}

// sources parses the Go files of this module with comments. It skips the folders that the go
// command skips: testdata, hidden folders and other modules.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := fs.WalkDir(checkout(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		s, err := parse(name)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// skip returns fs.SkipDir for a folder without packages of this module.
func skip(dir string) error {
	if dir == "." {
		return nil
	}
	if base := path.Base(dir); base == "testdata" || strings.HasPrefix(base, ".") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(checkout(), path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func parse(name string) (source, error) {
	text, err := fs.ReadFile(checkout(), name)
	if err != nil {
		return source{}, err
	}
	files := token.NewFileSet()
	syntax, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	return source{path: name, syntax: syntax, file: files.File(syntax.FileStart)}, nil
}
