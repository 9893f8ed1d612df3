package policytest_test

import (
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"
)

func TestEveryPackageHasADoc(t *testing.T) {
	t.Parallel()

	// The doc of a command starts with its name. A package that has only tests needs no doc.
	opening := regexp.MustCompile(`^(Package|Command) [a-z0-9-]+ `)
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		doc := s.syntax.Doc.Text()
		documented[s.dir()] = documented[s.dir()] || opening.MatchString(doc)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package doc: add one that begins with \"Package %s ...\"",
				dir, path.Base(dir))
		}
	}
}

// A test that is skipped in CI tests nothing.
func TestOnlyRequireSkipsTests(t *testing.T) {
	t.Parallel()

	for _, s := range sources(t) {
		if s.path == "test/fixtures/debian/root.go" {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, call.Sel.Name) {
				return true
			}
			if of, ok := call.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, of.Name) {
				t.Errorf("%s calls %s.%s: use debian.Require; in a fuzz target, return", s.path, of.Name, call.Sel.Name)
			}
			return true
		})
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()

	const limit = 400
	for _, s := range sources(t) {
		if lines := s.file.LineCount(); !s.test() && !s.generated() && lines > limit {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by idea", s.path, lines, limit)
		}
	}
}

// A single long function can be justified; many cannot.
func TestFunctionsAreShort(t *testing.T) {
	t.Parallel()

	var lengths []int
	for _, s := range sources(t) {
		if s.test() || s.generated() {
			continue
		}
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				lengths = append(lengths, s.lines(f))
			}
		}
	}
	slices.Sort(lengths)
	if median := lengths[len(lengths)/2]; median > 10 {
		t.Errorf("the median function has %d lines, at most 10 are allowed: separate decisions from effects", median)
	}
	if most := lengths[len(lengths)*9/10]; most > 35 {
		t.Errorf("a tenth of all functions have %d lines or more, at most 35 are allowed: separate decisions from effects", most)
	}
}

func TestOnlyGeneratedFilesHaveALicenceHeader(t *testing.T) {
	t.Parallel()

	for _, s := range sources(t) {
		if s.generated() || len(s.syntax.Comments) == 0 {
			continue
		}
		if strings.Contains(s.syntax.Comments[0].Text(), "SPDX-License-Identifier") {
			t.Errorf("%s has a licence header: LICENSE covers all files, remove it", s.path)
		}
	}
}

// go install and importers ignore a replace directive in the main module.
func TestTheModuleHasNoReplaceDirective(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"go.mod", "go.tools.mod"} {
		text, err := fs.ReadFile(checkout(), name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := modfile.Parse(name, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range file.Replace {
			t.Errorf("%s replaces %s: require the right version instead", name, r.Old.Path)
		}
	}
}

// PROJECT is kubebuilder's description of this repository. It must list the kinds that
// have a CRD, with their group.
func TestProjectListsTheKindsThatHaveACRD(t *testing.T) {
	t.Parallel()

	listed := map[string]kind{}
	var project struct {
		Resources []struct {
			Group, Domain, Kind, Version string
			API                          struct{ Namespaced bool }
		}
	}
	decode(t, "PROJECT", &project)
	for _, r := range project.Resources {
		listed[r.Kind] = kind{Group: r.Group + "." + r.Domain, Version: r.Version, Namespaced: r.API.Namespaced}
	}

	if diff := cmp.Diff(served(t), listed); diff != "" {
		t.Errorf("PROJECT and config/crd differ (-config/crd +PROJECT):\n%s", diff)
	}
}

// Kubebuilder's "controller: true" means that a reconciler exists for the kind. One reconciler writes the
// NodeCatalogs; kinds of resources have none of their own.
func TestProjectClaimsTheControllersThatExist(t *testing.T) {
	t.Parallel()

	var project struct {
		Resources []struct {
			Kind       string
			Controller bool
		}
	}
	decode(t, "PROJECT", &project)
	var claimed []string
	for _, r := range project.Resources {
		if r.Controller {
			claimed = append(claimed, r.Kind)
		}
	}
	if diff := cmp.Diff([]string{"NodeCatalog"}, claimed); diff != "" {
		t.Errorf("PROJECT claims other controllers (-want +got):\n%s", diff)
	}
	if built := controllersBuilt(t); built != len(claimed) {
		t.Errorf("%d controllers are built and PROJECT claims %d: %q", built, len(claimed), claimed)
	}
}

// controllersBuilt counts the controllers that the code registers with a manager.
func controllersBuilt(t *testing.T) int {
	t.Helper()
	built := 0
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "NewControllerManagedBy" {
				built++
			}
			return true
		})
	}
	return built
}

// A kind has the properties that PROJECT and a CRD share.
type kind struct {
	Group, Version string
	Namespaced     bool
}

// served returns the kinds in config/crd by name.
func served(t *testing.T) map[string]kind {
	t.Helper()
	names, err := fs.Glob(checkout(), "config/crd/*_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]kind{}
	for _, name := range names {
		var crd struct {
			Spec struct {
				Group, Scope string
				Names        struct{ Kind string }
				Versions     []struct{ Name string }
			}
		}
		decode(t, name, &crd)
		all[crd.Spec.Names.Kind] = kind{
			Group:      crd.Spec.Group,
			Version:    crd.Spec.Versions[0].Name,
			Namespaced: crd.Spec.Scope == "Namespaced",
		}
	}
	return all
}

func decode(t *testing.T, name string, into any) {
	t.Helper()
	text, err := fs.ReadFile(checkout(), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("cannot read %s: %v", name, err)
	}
}

// Decision records have a number and fixed sections.
func TestDecisionRecordsHaveTheRequiredSections(t *testing.T) {
	t.Parallel()

	names, err := fs.Glob(checkout(), "docs/adr/*.md")
	if err != nil {
		t.Fatal(err)
	}
	numbered := regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	for _, name := range names {
		base := path.Base(name)
		if base == "README.md" {
			continue
		}
		if !numbered.MatchString(base) {
			t.Errorf("%s: call it NNNN-title.md", name)
		}
		text, err := fs.ReadFile(checkout(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"Context", "Options", "Decision"} {
			if !strings.Contains(string(text), "\n## "+part) {
				t.Errorf("%s has no section \"## %s\"", name, part)
			}
		}
	}
}
