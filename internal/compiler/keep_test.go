package compiler_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
)

func TestKeepFrom(t *testing.T) {
	t.Parallel()

	before := func(f *v1alpha1.File) { f.Spec.Before = []v1alpha1.ResourceRef{"File/b"} }
	mode := func(f *v1alpha1.File) { f.Spec.Mode = new("0600") }
	for name, tt := range map[string]struct {
		base, edited []v1alpha1.Resource
		nodes        map[string]string // the paths that nodes get; their own names stand for files
		faults       []string
	}{
		"keeps the entry of a resource that becomes invalid": {
			base:   []v1alpha1.Resource{file("a", "/a"), file("b", "/b")},
			edited: []v1alpha1.Resource{file("a", "/new", content("refused")), file("b", "/b", mode)},
			nodes:  map[string]string{"web-1": "/a /b+", "db-1": "/a /b+"},
			faults: []string{"File/a:InvalidSpec"},
		},
		"keeps the targeting, too": {
			base:   []v1alpha1.Resource{file("a", "/a", on("web"))},
			edited: []v1alpha1.Resource{file("a", "/a", content("refused"))},
			nodes:  map[string]string{"web-1": "/a", "db-1": ""},
			faults: []string{"File/a:InvalidSpec"},
		},
		"keeps what a template that cannot be parsed replaces": {
			base:   []v1alpha1.Resource{file("a", "/a", rendering("{{ .node.name }}"))},
			edited: []v1alpha1.Resource{file("a", "/new", rendering("{{"))},
			nodes:  map[string]string{"web-1": "/a=web-1", "db-1": "/a=db-1"},
			faults: []string{"File/a:InvalidTemplate"},
		},
		"keeps what refers to a missing ConfigMap or Secret": {
			base:   []v1alpha1.Resource{file("a", "/a", from("ca", "pem")), file("s", "/s", content("open"))},
			edited: []v1alpha1.Resource{file("a", "/new", from("none", "pem")), file("s", "/new", fromSecret("hidden", "text"), accepting)},
			nodes:  map[string]string{"web-1": "/a=a certificate /s=open", "db-1": "/a=a certificate /s=open"},
			faults: []string{"File/a:MissingSource", "File/s:UnexposedSecret"},
		},
		"keeps the former path of a resource that claims another's": {
			base:   []v1alpha1.Resource{file("a", "/a"), file("b", "/b")},
			edited: []v1alpha1.Resource{file("a", "/b"), file("b", "/b")},
			nodes:  map[string]string{"web-1": "/a /b", "db-1": "/a /b"},
			faults: []string{"File/a:Conflict"},
		},
		"withholds only the new one of two with the same path": {
			base:   []v1alpha1.Resource{file("b", "/b")},
			edited: []v1alpha1.Resource{file("b", "/b"), file("new", "/b"), file("other", "/other")},
			nodes:  map[string]string{"web-1": "/b /other -new", "db-1": "/b /other -new"},
			faults: []string{"File/new:Conflict"},
		},
		"withholds a new one everywhere if it conflicts on one node": {
			base:   []v1alpha1.Resource{file("b", "/b", on("web"))},
			edited: []v1alpha1.Resource{file("b", "/b", on("web")), file("new", "/b")},
			nodes:  map[string]string{"web-1": "/b -new", "db-1": "-new"},
			faults: []string{"File/new:Conflict"},
		},
		"keeps the entry on all nodes if the new one fails on one": {
			base:   []v1alpha1.Resource{file("a", "/a")},
			edited: []v1alpha1.Resource{file("a", "/new", when(`node.name == "web-1" || facts.rack == "7"`))},
			nodes:  map[string]string{"web-1": "/a", "db-1": "/a"},
			faults: []string{"File/a:InvalidWhen"},
		},
		"keeps what a template that fails on a node replaces": {
			base:   []v1alpha1.Resource{file("a", "/a", content("old"))},
			edited: []v1alpha1.Resource{file("a", "/a", rendering(`{{ if eq .node.name "db-1" }}{{ .facts.rack }}{{ end }}`))},
			nodes:  map[string]string{"web-1": "/a=old", "db-1": "/a=old"},
			faults: []string{"File/a:InvalidTemplate"},
		},
		"drops the new edge of a cycle": {
			base:   []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b")},
			edited: []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b", requires("File/a"))},
			nodes:  map[string]string{"web-1": "/a /b", "db-1": "/a /b"},
			faults: []string{"File/b:DependencyCycle"},
		},
		"keeps what gets a reference that is missing": {
			base:   []v1alpha1.Resource{file("a", "/a"), file("b", "/b", on("web"))},
			edited: []v1alpha1.Resource{file("a", "/new", requires("File/b")), file("b", "/b", on("web"))},
			nodes:  map[string]string{"web-1": "/a /b", "db-1": "/a"},
			faults: []string{"File/a:MissingReference"},
		},
		"keeps what others require": {
			base:   []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b")},
			edited: []v1alpha1.Resource{file("a", "/a", requires("File/b"), mode), file("b", "/b", on("web"))},
			nodes:  map[string]string{"web-1": "/a /b", "db-1": "/a /b"},
			faults: []string{"File/a:MissingReference", "File/b:MissingReference"},
		},
		"keeps what an unchanged resource requires": {
			base:   []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b")},
			edited: []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b", on("web"))},
			nodes:  map[string]string{"web-1": "/a /b", "db-1": "/a /b"},
			faults: []string{"File/b:MissingReference"},
		},
		"keeps the entry of a fault that comes to another node": {
			base:   []v1alpha1.Resource{file("a", "/a"), file("b", "/a", on("web"))},
			edited: []v1alpha1.Resource{file("a", "/a"), file("b", "/a")},
			nodes:  map[string]string{"web-1": "-a -b", "db-1": "/a"},
			faults: []string{"File/b:Conflict"},
		},
		"does not keep what is deleted": {
			base:   []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b"), file("c", "/c")},
			edited: []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("c", "/c")},
			nodes:  map[string]string{"web-1": "/c -a", "db-1": "/c -a"},
		},
		"protects others from a new resource that comes before them": {
			base:   []v1alpha1.Resource{file("b", "/b")},
			edited: []v1alpha1.Resource{file("b", "/b"), file("new", "/new", content("refused"), before)},
			nodes:  map[string]string{"web-1": "/b -new", "db-1": "/b -new"},
			faults: []string{"File/new:InvalidSpec"},
		},
		"protects others from a new resource that fails on a node": {
			base:   []v1alpha1.Resource{file("b", "/b")},
			edited: []v1alpha1.Resource{file("b", "/b"), file("new", "/new", when("facts.rack == '7'"), before)},
			nodes:  map[string]string{"web-1": "/b -new", "db-1": "/b -new"},
			faults: []string{"File/new:InvalidWhen"},
		},
		"keeps one edit after the other": {
			base:   []v1alpha1.Resource{file("a", "/a"), file("b", "/b"), file("c", "/c")},
			edited: []v1alpha1.Resource{file("a", "/new", content("refused")), file("b", "/a"), file("c", "/b")},
			nodes:  map[string]string{"web-1": "/a /b /c", "db-1": "/a /b /c"},
			faults: []string{"File/a:InvalidSpec", "File/b:Conflict", "File/c:Conflict"},
		},
		"keeps what fails otherwise on a node if that withholds others there": {
			base:   []v1alpha1.Resource{file("a", "/a", when("facts.rack == '7'")), file("b", "/b")},
			edited: []v1alpha1.Resource{file("a", "/b"), file("b", "/b")},
			nodes:  map[string]string{"web-1": "/b -a", "db-1": "/b -a"},
			faults: []string{"File/a:Conflict"},
		},
		"does not keep what would be withheld all the same": {
			base:   []v1alpha1.Resource{file("a", "/a", requires("File/b")), file("b", "/b")},
			edited: []v1alpha1.Resource{file("a", "/new", requires("File/c"))},
			nodes:  map[string]string{"web-1": "-a", "db-1": "-a"},
		},
		"leaves a fault that base has": {
			base:   []v1alpha1.Resource{file("a", "/a"), file("b", "/a"), file("c", "/c")},
			edited: []v1alpha1.Resource{file("a", "/a", mode), file("b", "/a"), file("c", "/c", mode)},
			nodes:  map[string]string{"web-1": "/c+ -a -b", "db-1": "/c+ -a -b"},
		},
		"leaves what waits for a node": {
			base:   []v1alpha1.Resource{file("a", "/a")},
			edited: []v1alpha1.Resource{file("a", "/a", fromSecret("token", "text"), accepting)},
			nodes:  map[string]string{"web-1": "/a", "db-1": "-a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := compiler.Input{
				Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web"), keyless("db-1", "db")},
				ConfigMap: bundles, Secret: secrets, Seal: sealing,
			}
			c := &compiler.Compiler{}
			in.Resources = tt.base
			base := restored(t, c.Draft(in), in)
			in.Resources = tt.edited
			fleet := c.Nodes(in.Nodes)
			drafted := c.Draft(in)
			kept, faults := fleet.KeepFrom(drafted, base, in.Seal)
			result := fleet.Assign(kept, nil, in.Seal)
			if diff := cmp.Diff(tt.nodes, pathsOf(t, result)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			var got []string
			for ref, f := range faults {
				got = append(got, string(ref)+":"+f.Reason)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.faults, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(encoded(t, result.Nodes), encoded(t, assigned(restored(t, kept, in), in).Nodes)); diff != "" {
				t.Errorf("nodes of the result when it is restored (+):\n%s", diff)
			}
			if len(tt.faults) == 0 && kept != drafted {
				t.Error("nothing is kept, and another revision returned")
			}
		})
	}
}

// pathsOf returns the paths of the files that nodes get, with their content and + for a mode, and the names of those that are withheld.
func pathsOf(t *testing.T, r compiler.Result) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, n := range r.Nodes {
		var words []string
		entries, _, err := catalog.Assemble(n.Spec, func(name string) (*v1alpha1.Catalog, error) { return r.Catalogs[name], nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			var a v1alpha1.FileAttributes
			if err := json.Unmarshal(e.Attributes.Raw, &a); err != nil {
				t.Fatal(err)
			}
			word := a.Path
			if a.Content != nil {
				word += "=" + strings.TrimSpace(*a.Content)
			}
			if a.Mode != nil {
				word += "+"
			}
			words = append(words, word)
		}
		slices.Sort(words)
		for _, w := range n.Spec.Withheld {
			words = append(words, "-"+strings.TrimPrefix(string(w.Ref), "File/"))
		}
		all[name] = strings.Join(words, " ")
	}
	return all
}

// edited returns an input with random edits.
func edited(t *testing.T, r *rand.Rand, in compiler.Input) compiler.Input {
	t.Helper()
	other := everything(t, r)
	in.Resources = slices.Clone(in.Resources)
	for range 1 + r.IntN(4) {
		i := r.IntN(len(in.Resources))
		switch r.IntN(5) {
		case 0:
			in.Resources = slices.Delete(in.Resources, i, i+1)
		case 1:
			in.Resources = append(in.Resources, file(fmt.Sprintf("new%d", i), fmt.Sprintf("/p%d", r.IntN(40)), requires(v1alpha1.RefOf(in.Resources[i]))))
		default:
			ref := v1alpha1.RefOf(in.Resources[i])
			if j := slices.IndexFunc(other.Resources, func(o v1alpha1.Resource) bool { return v1alpha1.RefOf(o) == ref }); j >= 0 {
				in.Resources[i] = other.Resources[j]
			}
		}
	}
	return in
}

func TestWhatIsKeptIsKeptAgain(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		in := everything(t, r)
		c := &compiler.Compiler{}
		base := c.Draft(in)
		if same, faults := c.Nodes(in.Nodes).KeepFrom(base, restored(t, base, in), in.Seal); same != base || len(faults) > 0 {
			t.Fatalf("seed %d: without an edit, %v are kept", seed, faults)
		}
		next := edited(t, r, in)
		kept, _ := c.Nodes(in.Nodes).KeepFrom(c.Draft(next), base, in.Seal)
		stored := withoutDefinitions(kept.Store())
		if diff := cmp.Diff(encoded(t, stored), encoded(t, restored(t, kept, next).Store())); diff != "" {
			t.Fatalf("seed %d: what is kept is stored differently when it is restored:\n%s", seed, diff)
		}
		again, _ := c.Nodes(in.Nodes).KeepFrom(c.Draft(next), restored(t, kept, next), in.Seal)
		if diff := cmp.Diff(encoded(t, stored), encoded(t, withoutDefinitions(again.Store()))); diff != "" {
			t.Fatalf("seed %d: another compilation keeps something else:\n%s", seed, diff)
		}
	}
}
