package compiler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// usable returns what the compiler has to know of a type.
func usable(t testing.TB, d *definition.Definition) compiler.ExternalKind {
	t.Helper()
	c, err := catalog.OfType(d.Name, d.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return compiler.ExternalKind{Type: d.Ref(), Definition: c, Remote: d.IsRemote()}
}

// keeps returns what names the definition of a type.
func keeps(t testing.TB, d *definition.Definition) v1alpha1.TypeDefinition {
	t.Helper()
	return v1alpha1.TypeDefinition{Type: d.Ref(), Catalog: usable(t, d).Definition.Name}
}

// typesOf returns the types that a result gives to nodes.
func typesOf(r compiler.Result) map[string][]v1alpha1.TypeDefinition {
	all := map[string][]v1alpha1.TypeDefinition{}
	for name, n := range r.Nodes {
		all[name] = n.Types
	}
	return all
}

func onWeb(e *v1alpha1.External) { e.Spec.NodeSelector = onRole("web") }

func TestARevisionKeepsTheDefinitionsOfItsTypes(t *testing.T) {
	t.Parallel()

	d := typeWith(t, "", "left")
	in := withType(t, compiler.Input{
		Nodes:     []compiler.Node{node("web-1", "web"), node("web-2", "web"), node("db-1", "db")},
		Resources: []v1alpha1.Resource{pair("a", `{"left":"1"}`, onWeb), pair("b", `{"left":"2"}`, onWeb), file("f", "/f")},
	}, d)
	revision := new(compiler.Compiler).Draft(in)
	stored := revision.Store()
	if diff := cmp.Diff([]v1alpha1.TypeDefinition{keeps(t, d)}, stored.Revisions[0].Types); diff != "" {
		t.Errorf("the CatalogRevision (-want +got):\n%s", diff)
	}
	name := keeps(t, d).Catalog
	spec, err := catalog.TypeOf(name, rewritten(t, stored.Catalogs[name]), "pairs")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encoded(t, d.Spec), encoded(t, *spec)); diff != "" {
		t.Errorf("the definition (-want +got):\n%s", diff)
	}
	want := map[string][]v1alpha1.TypeDefinition{"web-1": {keeps(t, d)}, "web-2": {keeps(t, d)}, "db-1": nil}
	result := assigned(revision, in)
	if diff := cmp.Diff(want, typesOf(result)); diff != "" {
		t.Errorf("the nodes (-want +got):\n%s", diff)
	}
	if result.Catalogs[name] != nil {
		t.Error("nodes are given the definition as if it were resources")
	}
}

func TestARevisionWithoutExternalTypesKeepsItsName(t *testing.T) {
	t.Parallel()

	in := withType(t, compiler.Input{Resources: []v1alpha1.Resource{file("a", "/a", content("hello"))}}, typeWith(t, "", "left"))
	const want = "sha256-0279c1f21891f836512863958c0ba77a2c56c7ed95f03a430c212ec843ab3a55"
	if stored := new(compiler.Compiler).Draft(in).Store(); stored.Name != want || stored.Revisions[0].Types != nil {
		t.Errorf("got %s with the types %v", stored.Name, stored.Revisions[0].Types)
	}
}

func TestAWithheldResourceNeedsNoDefinition(t *testing.T) {
	t.Parallel()

	in := withType(t, compiler.Input{
		Nodes:     []compiler.Node{node("web-1", "web"), factless("web-2", "web")},
		Resources: []v1alpha1.Resource{pair("a", `{"left":"1"}`, func(e *v1alpha1.External) { e.Spec.When = `facts.os.family == "Debian"` })},
	}, typeWith(t, "", "left"))
	want := map[string][]v1alpha1.TypeDefinition{"web-1": {keeps(t, typeWith(t, "", "left"))}, "web-2": nil}
	if diff := cmp.Diff(want, typesOf(new(compiler.Compiler).Compile(in))); diff != "" {
		t.Errorf("the nodes (-want +got):\n%s", diff)
	}
	in.Refused = map[v1alpha1.ResourceRef]string{"Pair/a": "no default"}
	if stored := new(compiler.Compiler).Draft(in).Store(); stored.Revisions[0].Types != nil || len(stored.Catalogs) > 0 {
		t.Errorf("a resource that no node gets keeps %v and %d Catalogs", stored.Revisions[0].Types, len(stored.Catalogs))
	}
}

func TestAnotherVersionOfATypeIsAnotherRevisionAndARevertTheFormerOne(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Nodes: webs(1), Resources: []v1alpha1.Resource{pair("a", `{"left":"1"}`)}}
	one, two := withType(t, in, typeWith(t, "", "left")), withType(t, in, typeWith(t, "", "left", "right"))
	first, second, again := new(compiler.Compiler).Draft(one).Store(), new(compiler.Compiler).Draft(two).Store(), new(compiler.Compiler).Draft(one).Store()
	if first.Name == second.Name || again.Name != first.Name {
		t.Errorf("the names are %s, %s and %s", first.Name, second.Name, again.Name)
	}
	// The definition of a revision is its own, whatever the cluster has now.
	got, err := new(compiler.Compiler).Restore(first.Name, save(t, first, second).source(), two)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]v1alpha1.TypeDefinition{"web-0": {keeps(t, typeWith(t, "", "left"))}}, typesOf(assigned(got, two))); diff != "" {
		t.Errorf("the nodes (-want +got):\n%s", diff)
	}
}

func TestRestoreNeedsDefinitionsToExistAndNotTheirContent(t *testing.T) {
	t.Parallel()

	d := typeWith(t, "", "left")
	in := withType(t, compiler.Input{Resources: []v1alpha1.Resource{pair("a", `{"left":"1"}`)}}, d)
	stored := new(compiler.Compiler).Draft(in).Store()
	c := save(t, stored)
	from := c.source()
	from.Catalog = func(name string) *v1alpha1.Catalog {
		if name == keeps(t, d).Catalog {
			t.Error("the definition was read")
		}
		return c.catalogs[name]
	}
	if _, err := new(compiler.Compiler).Restore(stored.Name, from, in); err != nil {
		t.Error(err)
	}
	delete(c.catalogs, keeps(t, d).Catalog)
	want := fmt.Sprintf("cannot restore CatalogRevision %s: there is no Catalog %s with the definition of %s", stored.Name, keeps(t, d).Catalog, d.Ref())
	if _, err := new(compiler.Compiler).Restore(stored.Name, from, in); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	c.revisions[stored.Name].Types[0].Catalog = stored.Name
	if _, err := new(compiler.Compiler).Restore(stored.Name, c.source(), in); err == nil || !strings.Contains(err.Error(), "it was changed") {
		t.Errorf("got %v", err)
	}
}

func TestAKeptEntryKeepsItsDefinition(t *testing.T) {
	t.Parallel()

	old, now := typeWith(t, "", "left"), typeWith(t, "", "left", "right")
	before := withType(t, compiler.Input{Nodes: webs(1), Resources: []v1alpha1.Resource{pair("a", `{"left":"1"}`), pair("b", `{"left":"1"}`)}}, old)
	after := withType(t, before, now)
	after.Refused = map[v1alpha1.ResourceRef]string{"Pair/a": "no default"}
	base := new(compiler.Compiler).Draft(before)
	for name, base := range map[string]*compiler.Revision{"of a draft": base, "of what is stored": restored(t, base, after)} {
		c := new(compiler.Compiler)
		nodes, draft := c.Nodes(after.Nodes), c.Draft(after)
		r, _ := nodes.KeepFrom(draft, base, nil)
		want := []v1alpha1.TypeDefinition{keeps(t, old), keeps(t, now)}
		slices.SortFunc(want, func(a, b v1alpha1.TypeDefinition) int { return strings.Compare(a.Type, b.Type) })
		if diff := cmp.Diff(map[string][]v1alpha1.TypeDefinition{"web-0": want}, typesOf(nodes.Assign(r, nil, nil))); diff != "" {
			t.Errorf("%s: the nodes (-want +got):\n%s", name, diff)
		}
		stored := r.Store()
		got, err := new(compiler.Compiler).Restore(stored.Name, save(t, base.Store(), stored, new(compiler.Compiler).Draft(before).Store()).source(), after)
		if err != nil {
			t.Fatal(err)
		}
		if again := got.Store(); again.Name != stored.Name || len(again.Revisions[0].Types) != 2 {
			t.Errorf("%s: the restored revision is %s with the types %v, and not %s", name, again.Name, again.Revisions[0].Types, stored.Name)
		}
	}
}

// The node of an agent that has nothing finds all types of its entries, and no others.
func TestNodesHaveTheDefinitionsOfTheirEntries(t *testing.T) {
	t.Parallel()

	for seed := range uint64(30) {
		in := everything(t, rand.New(rand.NewPCG(seed, 7)))
		kept := map[string]string{}
		for _, kind := range in.External {
			kept[kind.Type] = kind.Definition.Name
		}
		result := new(compiler.Compiler).Compile(in)
		for name, n := range result.Nodes {
			entries, _, err := catalog.Assemble(n.Spec, func(name string) (*v1alpha1.Catalog, error) { return result.Catalogs[name], nil })
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, e := range entries {
				if e.Type != "" {
					want[e.Type] = kept[e.Type]
				}
			}
			got := map[string]string{}
			for _, is := range n.Types {
				got[is.Type] = is.Catalog
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) != len(n.Types) {
				t.Errorf("seed %d: %s (-want +got):\n%s", seed, name, diff)
			}
		}
	}
}
