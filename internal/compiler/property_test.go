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
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

// fleet generates a random input with every kind of problem.
func fleet(r *rand.Rand, nodes, resources int) compiler.Input {
	in := compiler.Input{Kinds: kinds()}
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	ref := func() v1alpha1.ResourceRef {
		return v1alpha1.ResourceRef(fmt.Sprintf("%s/r%d", pick("File", "SystemService", "Package"), r.IntN(resources+1)))
	}
	for i := range nodes {
		n := node(fmt.Sprintf("n%d", i), pick("web", "db"))
		if r.IntN(5) == 0 {
			n.Facts = nil
		}
		in.Nodes = append(in.Nodes, n)
	}
	for i := range resources {
		name := fmt.Sprintf("r%d", i)
		if r.IntN(3) == 0 {
			in.Resources = append(in.Resources, service(name, func(s *v1alpha1.SystemService) { s.Spec.Subscribe = []v1alpha1.ResourceRef{ref()} }))
			continue
		}
		f := file(name, fmt.Sprintf("/p%d", r.IntN(resources*2)))
		f.Spec.NodeSelector = onRole(pick("web", "db"))
		f.Spec.When = pick("", "", "true", `facts.os.family == "Debian"`, `node.labels.x == "y"`, "(")
		switch r.IntN(4) {
		case 0:
			f.Spec.ContentTemplate = new(pick("{{ .node.name }}", "{{ .facts.os.family }}", "{{ .x }}", "{{"))
		case 1:
			f.Spec.Require = []v1alpha1.ResourceRef{ref()}
		case 2:
			f.Spec.Notify = []v1alpha1.ResourceRef{ref(), ref()}
		}
		in.Resources = append(in.Resources, f)
	}
	return in
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		in := fleet(r, 6, 20)
		in.Resources = append(in.Resources, file("twice", "/twice", on("web")), file("twice", "/twice", on("db")))
		before := encoded(t, in.Resources)
		want := compiler.Compile(in)
		outlineOf(t, want) // the result can be assembled, with the same digest
		if diff := cmp.Diff(before, encoded(t, in.Resources)); diff != "" {
			t.Fatalf("seed %d: the input was changed:\n%s", seed, diff)
		}
		r.Shuffle(len(in.Nodes), func(i, j int) { in.Nodes[i], in.Nodes[j] = in.Nodes[j], in.Nodes[i] })
		r.Shuffle(len(in.Resources), func(i, j int) { in.Resources[i], in.Resources[j] = in.Resources[j], in.Resources[i] })
		if diff := cmp.Diff(encoded(t, want), encoded(t, compiler.Compile(in))); diff != "" {
			t.Fatalf("seed %d: another order gives another result:\n%s", seed, diff)
		}
	}
}

func TestAnAppliedResourceHasAllItsPredecessors(t *testing.T) {
	t.Parallel()

	for seed := range uint64(60) {
		in := fleet(rand.New(rand.NewPCG(seed, 2)), 6, 20)
		for name, n := range compiler.Compile(in).Nodes {
			for _, e := range edges(in.Resources) {
				if n.EntryHash(e.after) != "" && n.EntryHash(e.first) == "" && selects(n, e.holder) {
					t.Errorf("seed %d: on %s %s is applied without %s", seed, name, e.after, e.first)
				}
			}
		}
	}
}

// An edge belongs to the resource holder.
type edge struct{ holder, first, after v1alpha1.ResourceRef }

func edges(resources []v1alpha1.Resource) []edge {
	var all []edge
	for _, r := range resources {
		ref, targeting := v1alpha1.ResourceRef(r.KindName()+"/"+r.GetName()), r.GetTargeting()
		for _, other := range append(targeting.Require, targeting.Subscribe...) {
			all = append(all, edge{ref, other, ref})
		}
		for _, other := range append(targeting.Before, targeting.Notify...) {
			all = append(all, edge{ref, ref, other})
		}
	}
	return all
}

// selects reports whether a resource selects the node.
func selects(n *compiler.NodeResult, holder v1alpha1.ResourceRef) bool {
	return n.EntryHash(holder) != "" || slices.ContainsFunc(n.Spec.Withheld, func(w v1alpha1.Withheld) bool { return w.Ref == holder })
}

func TestACatalogTooLargeForOneObjectIsSplit(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web")}}
	for i := range 5 {
		in.Resources = append(in.Resources, file(fmt.Sprintf("f%d", i), fmt.Sprintf("/f%d", i), content(strings.Repeat("x", 200<<10))))
	}
	result := compiler.Compile(in)
	var counts []int32
	for _, ref := range result.Nodes["web-1"].Spec.Catalogs {
		counts = append(counts, result.Catalogs[ref.Name].Count)
	}
	if len(counts) != 3 || counts[0]+counts[1]+counts[2] != 5 {
		t.Errorf("got catalogs with %v entries, want 5 in 3", counts)
	}
	outlineOf(t, result)
}

func TestNodesOfOneTargetingShareItsCatalog(t *testing.T) {
	t.Parallel()

	in := compiler.Input{
		Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web"), node("web-2", "web"), node("db-1", "db")},
		Resources: []v1alpha1.Resource{
			file("a", "/a", on("web")), file("b", "/b", on("web"), when(" true")), file("c", "/c", on("web"), when("true ")), file("d", "/d"),
		},
	}
	result := compiler.Compile(in)
	if diff := cmp.Diff(result.Nodes["web-1"].Spec, result.Nodes["web-2"].Spec); diff != "" || len(result.Catalogs) != 3 {
		t.Errorf("got %d catalogs, want 3; the nodes differ in: %s", len(result.Catalogs), diff)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("/etc/motd", "{{ .node.name }}", `facts.os.family == "Debian"`, "role", "In", "File/b", `{"os":{"family":"Debian"}}`)
	f.Add("", "{{ range until 10 }}x{{ end }}", "node", "", "", "x", "null")
	f.Add("/", `{{ "a" | repeat -1 }}{{ seq }}`, "[1][2]", "a/b/c", "Exists", "/", `{"a":[1,{"b":null}]}`)
	f.Fuzz(func(t *testing.T, path, template, when, key, operator, ref, facts string) {
		n := node("n1", "web")
		n.Facts = func() (is resource.Facts) {
			_ = json.Unmarshal([]byte(facts), &is) // nil if invalid
			return is
		}
		a := file("a", path, rendering(template), requires(v1alpha1.ResourceRef(ref)))
		b := file("b", path, content(template))
		b.Spec.When = when
		b.Spec.NodeSelector.MatchExpressions = append(b.Spec.NodeSelector.MatchExpressions, requirement(key, operator))
		in := compiler.Input{Kinds: kinds(), Nodes: []compiler.Node{n, node("n2", "db")}, Resources: []v1alpha1.Resource{a, b}}
		first := compiler.Compile(in)
		outlineOf(t, first)
		in.Resources = []v1alpha1.Resource{b, a}
		if diff := cmp.Diff(encoded(t, first), encoded(t, compiler.Compile(in))); diff != "" {
			t.Errorf("another order gives another result:\n%s", diff)
		}
		compiler.Local(in)
	})
}

// thousands returns a fleet of 500 resources and the given number of nodes. A node has 100 resources for all nodes and 20
// for its group; 10 % of the latter are templates.
func thousands(nodes int) compiler.Input {
	in := compiler.Input{Kinds: kinds()}
	for i := range nodes {
		n := node(fmt.Sprintf("node-%04d", i), fmt.Sprintf("role-%d", i%20))
		n.FactsKey = "same"
		in.Nodes = append(in.Nodes, n)
	}
	for i := range 500 {
		name := fmt.Sprintf("r%03d", i)
		f := file(name, "/etc/"+name, content(strings.Repeat("x", 1000)), on(fmt.Sprintf("role-%d", i%20)))
		switch {
		case i%5 == 0:
			f.Spec.NodeSelector = everywhere()
			f.Spec.When = `facts.os.family == "Debian"`
		case i%10 == 1:
			f.Spec.Content = nil
			f.Spec.ContentTemplate = new("{{ .node.name }} {{ .facts.os.family }}")
		case i > 20:
			f.Spec.Require = []v1alpha1.ResourceRef{v1alpha1.ResourceRef(fmt.Sprintf("File/r%03d", i-20))}
		}
		in.Resources = append(in.Resources, f)
	}
	return in
}

func BenchmarkCompile(b *testing.B) {
	in := thousands(5000)
	b.ReportAllocs()
	for b.Loop() {
		if r := compiler.Compile(in); len(r.Nodes) != 5000 {
			b.Fatal(len(r.Nodes))
		}
	}
}

// BenchmarkCompileAgain measures a compilation after one change.
func BenchmarkCompileAgain(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		in := thousands(nodes)
		var c compiler.Compiler
		for name, change := range map[string]func(i int){
			"nothing": func(int) {},
			"a resource of every node": func(i int) {
				in.Resources[0] = file("r000", "/etc/r000", when(`facts.os.family == "Debian"`), content(fmt.Sprint(i)))
			},
			"a resource of one group": func(i int) { in.Resources[2] = file("r002", "/etc/r002", on("role-2"), content(fmt.Sprint(i))) },
			"a label of one node": func(i int) {
				in.Nodes[7].Labels = map[string]string{"role": "role-7", "x": fmt.Sprint(i)}
			},
		} {
			b.Run(fmt.Sprintf("%d nodes/%s", nodes, name), func(b *testing.B) {
				c.Compile(in)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					change(i)
					if r := c.Compile(in); len(r.Nodes) != nodes {
						b.Fatal(len(r.Nodes))
					}
				}
			})
		}
	}
}
