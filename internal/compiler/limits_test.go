package compiler_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

const (
	expensiveTemplate = `{{ range 100000 }}{{ end }}`
	expensiveWhen     = `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(a, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(b, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(c, [1, 2, 3, 4, 5, 6].all(d, a + b + c + d > 0)))) && `

	overTemplate = "contentTemplate takes more than 3 s on all nodes together, or more than its share of the 30 s for all resources: read less of the facts, or render less"
)

func webs(n int) []compiler.Node {
	var all []compiler.Node
	for i := range n {
		all = append(all, node(fmt.Sprintf("web-%d", i), "web"))
	}
	return all
}

func messages(result compiler.Result) []string {
	var all []string
	for _, p := range result.Problems {
		all = append(all, fmt.Sprintf("%s|%s|%s|%s", p.Ref, p.Node, p.Reason, p.Message))
	}
	return all
}

func TestAnExpressionThatIsTooExpensiveOnAllNodesTogetherIsWithheld(t *testing.T) {
	t.Parallel()

	result := compiler.Compile(compiler.Input{Nodes: webs(150), Kinds: kinds(), Resources: []v1alpha1.Resource{
		file("a", "/a", rendering(expensiveTemplate+"{{ .node.name }}")),
		file("b", "/b", when(expensiveWhen+`node.name != ""`)),
		file("c", "/c", rendering("{{ .node.name }}")),
		file("d", "/d", requires("File/a")),
	}})
	want := []string{
		"File/a||InvalidTemplate|" + overTemplate,
		"File/b||InvalidWhen|when " + fmt.Sprintf("%q", expensiveWhen+`node.name != ""`) + " takes more than 3 s on all nodes together, or more than its share of the 30 s for all resources: read less of the facts, or select by labels",
		"File/d||DependsOnProblem|waits for File/a, which is withheld: InvalidTemplate",
	}
	if diff := cmp.Diff(want, messages(result)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, n := range result.Nodes {
		if len(n.Spec.Entries) != 1 || n.EntryHash("File/c") == "" {
			t.Errorf("%s has %d entries, want File/c", name, len(n.Spec.Entries))
		}
	}
}

// One of these templates alone is within its limit: its share is what it exceeds.
func TestExpensiveExpressionsDoNotAffectOthers(t *testing.T) {
	t.Parallel()

	const template = `{{ range 30000 }}{{ end }}{{ .node.name }}`
	alone := compiler.Input{Nodes: webs(20), Kinds: kinds(), Resources: []v1alpha1.Resource{file("a", "/a", rendering(template))}}
	if problems := compiler.Compile(alone).Problems; len(problems) > 0 {
		t.Errorf("one template: got %v, want no problem", problems)
	}

	in := compiler.Input{Nodes: webs(20), Kinds: kinds(), Resources: []v1alpha1.Resource{file("z", "/z", rendering("{{ .node.name }}"))}}
	for i := range 60 {
		in.Resources = append(in.Resources, file(fmt.Sprintf("a%d", i), fmt.Sprintf("/a%d", i), rendering(template)))
	}
	result := compiler.Compile(in)
	for _, m := range messages(result) {
		if strings.HasPrefix(m, "File/z") || !strings.HasSuffix(m, "InvalidTemplate|"+overTemplate) {
			t.Errorf("unexpected: %s", m)
		}
	}
	if len(result.Problems) != 60 || result.Nodes["web-0"].EntryHash("File/z") == "" {
		t.Errorf("got %d problems, want 60", len(result.Problems))
	}
}

// Each cheap template leaves most of its share.
func TestAnExpensiveExpressionGetsTheRestOfTheBudget(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Nodes: webs(20), Kinds: kinds(), Resources: []v1alpha1.Resource{file("z", "/z", rendering(`{{ range 30000 }}{{ end }}{{ .node.name }}`))}}
	for i := range 60 {
		in.Resources = append(in.Resources, file(fmt.Sprintf("a%d", i), fmt.Sprintf("/a%d", i), rendering("{{ .node.name }}")))
	}
	if problems := compiler.Compile(in).Problems; len(problems) > 0 {
		t.Errorf("got %v, want no problem", problems)
	}
}

func TestEarlierCompilationsDoNotChangeWhatExceedsLimits(t *testing.T) {
	t.Parallel()

	r := rand.New(rand.NewPCG(1, 1))
	all := webs(30)
	texts := []string{expensiveTemplate + "{{ .node.name }}", expensiveTemplate + "{{ .node.labels.role }}", "{{ .node.name }}"}
	c := &compiler.Compiler{}
	withheld := 0
	for step := range 8 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		in := compiler.Input{Nodes: all[:15+r.IntN(16)], Kinds: kinds()}
		for i := range in.Nodes {
			if r.IntN(10) == 0 {
				in.Nodes[i].Labels = map[string]string{"role": []string{"web", "db"}[r.IntN(2)]}
			}
		}
		for i, text := range texts {
			f := file(fmt.Sprintf("f%d", i), fmt.Sprintf("/f%d", i), rendering(text), when([]string{expensiveWhen + `node.name != ""`, `node.labels.role == "web"`, "true"}[(i+step/3)%3]))
			f.UID, f.Generation = "f", int64(step/3)
			in.Resources = append(in.Resources, f)
		}
		got, want := c.Compile(in), compiler.Compile(in)
		if diff := cmp.Diff(encoded(t, want), encoded(t, got)); diff != "" {
			t.Fatalf("step %d: (-fresh +again):\n%s", step, diff)
		}
		withheld += len(got.Problems)
	}
	if withheld == 0 {
		t.Error("nothing was withheld")
	}
}

func TestAnErrorOnANodeNamesTheNode(t *testing.T) {
	t.Parallel()

	result := compiler.Compile(compiler.Input{Nodes: webs(3)[1:], Kinds: kinds(), Resources: []v1alpha1.Resource{
		file("a", "/a", rendering("{{ .facts.none }}")), file("b", "/b", when("facts.none")), file("c", "/c", rendering("{{ .node.labels.none }}")),
	}})
	var nodes []string
	for _, p := range result.Problems {
		if !strings.Contains(p.Message, " on node "+p.Node+": ") {
			t.Errorf("%s on %s: %s", p.Ref, p.Node, p.Message)
		}
		nodes = append(nodes, string(p.Ref)+" "+p.Node)
	}
	want := []string{"File/a web-1", "File/a web-2", "File/b web-1", "File/b web-2", "File/c web-1", "File/c web-2"}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What resources have against each other takes memory in proportion to their number, however many are in it together.
func TestFaultsOfManyResourcesTakeLinearMemory(t *testing.T) {
	for name, at := range map[string]func(i, n int) v1alpha1.Resource{
		"conflicts": func(i, _ int) v1alpha1.Resource { return file(fmt.Sprint("f", i), "/same") },
		"a cycle": func(i, n int) v1alpha1.Resource {
			return file(fmt.Sprint("f", i), fmt.Sprint("/f", i), requires(v1alpha1.ResourceRef(fmt.Sprint("File/f", (i+1)%n))))
		},
		"missing references": func(i, _ int) v1alpha1.Resource {
			return file(fmt.Sprint("f", i), fmt.Sprint("/f", i), requires("File/none"))
		},
	} {
		allocated := func(n int) uint64 {
			var all []v1alpha1.Resource
			for i := range n {
				all = append(all, at(i, n))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			result := compiler.Compile(compiler.Input{Nodes: webs(1), Kinds: kinds(), Resources: all})
			runtime.ReadMemStats(&after)
			if len(result.Problems) != n {
				t.Errorf("%s: %d of %d resources have a problem", name, len(result.Problems), n)
			}
			return after.TotalAlloc - before.TotalAlloc
		}
		allocated(10)
		if few, many := allocated(200), allocated(2000); many > 15*few {
			t.Errorf("%s: ten times as many take %d KiB instead of %d", name, many>>10, few>>10)
		}
	}
}
