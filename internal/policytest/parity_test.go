package policytest_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rows returns the rows of the comparison with Puppet's resource abstraction layer.
func rows(t *testing.T) []row {
	t.Helper()
	all, err := parityRows(checkout())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Sections with numbered rows are complete.
func TestParityHasAllNumberedRows(t *testing.T) {
	t.Parallel()

	got := map[string]int{}
	for _, r := range rows(t) {
		got[r.Section]++
	}
	for section, count := range map[string]int{"1.1": 22, "1.2": 22, "1.3": 17, "1.4": 14, "7": 20} {
		if got[section] != count {
			t.Errorf("%s has %d rows in section %s, want %d", parityDoc, got[section], section, count)
		}
	}
	for _, section := range []string{"2.1", "2.2", "2.3", "2.4", "2.5", "2.9", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10"} {
		if got[section] == 0 {
			t.Errorf("%s has no row of section %s", parityDoc, section)
		}
	}
}

// All citations exist: files, symbols as folder.Name or folder.Type.Method, tests
// as folder.TestName/name of a subtest.
func TestParityCitesExistingSymbolsAndTests(t *testing.T) {
	t.Parallel()

	d := declarations(t)
	for _, r := range rows(t) {
		for _, cited := range r.cited() {
			if problem := d.find(cited); problem != "" {
				t.Errorf("%s, section %s, %q: `%s` %s", parityDoc, r.Section, r.Name, cited, problem)
			}
		}
		if len(r.tests()) == 0 && !r.excused() {
			t.Errorf("%s, section %s, %q has no test: name one, or begin with \"does not apply: \" or \"not yet: \"", parityDoc, r.Section, r.Name)
		}
	}
}

// declared contains the symbols of all folders, and the string literals in their tests.
type declared struct{ symbols, texts map[string]bool }

func declarations(t *testing.T) declared {
	t.Helper()
	d := declared{map[string]bool{}, map[string]bool{}}
	for _, s := range sources(t) {
		for _, decl := range s.syntax.Decls {
			for _, name := range names(decl) {
				d.symbols[s.dir()+"."+name] = true
			}
		}
		if !s.test() {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					d.texts[s.dir()+"/"+text] = true
				}
			}
			return true
		})
	}
	return d
}

// find returns the problem with a citation, or "".
func (d declared) find(cited string) string {
	if _, err := fs.Stat(checkout(), cited); err == nil {
		return ""
	}
	test, _ := parseCitedTest(cited)
	if symbol := test.Folder + "." + test.Func; !d.symbols[cited] && !d.symbols[symbol] {
		return "is neither a file nor a declaration"
	}
	if test.Sub != "" && !d.texts[test.Folder+"/"+test.Sub] {
		return "has no such subtest"
	}
	return ""
}

// names returns the names in a declaration; methods include their type.
func names(decl ast.Decl) []string {
	if f, ok := decl.(*ast.FuncDecl); ok {
		if f.Recv == nil {
			return []string{f.Name.Name}
		}
		return []string{receiver(f.Recv.List[0].Type) + "." + f.Name.Name}
	}
	var all []string
	for _, spec := range decl.(*ast.GenDecl).Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			all = append(all, spec.Name.Name)
			all = append(all, fields(spec)...)
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				all = append(all, n.Name)
			}
		}
	}
	return all
}

// fields returns the fields of a struct or the methods of an interface, with their type.
func fields(spec *ast.TypeSpec) []string {
	var list *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	var all []string
	for _, f := range list.List {
		for _, n := range f.Names {
			all = append(all, spec.Name.Name+"."+n.Name)
		}
	}
	return all
}

func receiver(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return receiver(typ.X)
	case *ast.IndexExpr:
		return receiver(typ.X)
	case *ast.Ident:
		return typ.Name
	}
	return ""
}

func TestMissingCitationsAreReported(t *testing.T) {
	t.Parallel()

	d := declarations(t)
	got := map[string]string{}
	for _, cited := range []string{
		"Makefile", "no/such/file", "internal/host.Reader", "internal/host.Reader.Stat", "internal/host.Writer",
		"internal/policytest.TestMissingCitationsAreReported", "internal/policytest.TestMissingCitationsAreReported/no/such/file",
		"internal/policytest.TestNothing", path.Join("internal/policytest.TestMissingCitationsAreReported", "never"+" said"),
	} {
		if problem := d.find(cited); problem != "" {
			got[cited] = problem
		}
	}
	want := map[string]string{
		"no/such/file": "is neither a file nor a declaration", "internal/host.Writer": "is neither a file nor a declaration",
		"internal/policytest.TestNothing":                                     "is neither a file nor a declaration",
		"internal/policytest.TestMissingCitationsAreReported/never" + " said": "has no such subtest",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
