package compiler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A history is a fleet that changes step by step.
type history struct {
	*rand.Rand
	in         compiler.Input
	configMaps map[string]string
	serial     int
}

func newHistory(seed uint64) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 3)), configMaps: map[string]string{"motd": "hello\n"}}
	h.in = fleet(h.Rand, 6, 20)
	h.in.ConfigMap = func(ref v1alpha1.KeyRef) (string, bool) {
		text, ok := h.configMaps[ref.Name]
		return text, ok
	}
	for _, r := range h.in.Resources {
		h.changed(r)
	}
	return h
}

// changed sets the metadata that an API server sets when a spec changes.
func (h *history) changed(r v1alpha1.Resource) {
	h.serial++
	r.SetUID(types.UID(r.KindName() + r.GetName()))
	r.SetGeneration(int64(h.serial))
}

// step makes at most one change.
func (h *history) step() string {
	i, j := h.IntN(len(h.in.Resources)), h.IntN(len(h.in.Nodes))
	switch h.IntN(11) {
	case 0:
		h.in.Nodes[j] = node(h.in.Nodes[j].Name, []string{"web", "db", "none"}[h.IntN(3)])
		return "labels of " + h.in.Nodes[j].Name
	case 1:
		h.in.Nodes[j].Facts, h.in.Nodes[j].FactsKey = nil, ""
		return "no facts of " + h.in.Nodes[j].Name
	case 2:
		family := []string{"Debian", "RedHat"}[h.IntN(2)]
		h.in.Nodes[j].Facts = func() resource.Facts { return resource.Facts{"os": map[string]any{"family": family}} }
		h.in.Nodes[j].FactsKey = family
		return "facts of " + h.in.Nodes[j].Name
	case 3:
		h.configMaps["motd"] = fmt.Sprintf("text %d\n", h.IntN(3))
		return "a ConfigMap"
	case 4:
		delete(h.configMaps, "motd")
		return "no ConfigMap"
	case 5:
		another := fleet(h.Rand, 1, 20).Resources[i%20]
		h.changed(another)
		h.in.Resources[i] = another
		return "another " + another.GetName()
	case 6:
		f := file(fmt.Sprintf("new%d", h.serial), fmt.Sprintf("/p%d", h.IntN(40)), from("motd", "text"))
		h.changed(f)
		h.in.Resources = append(h.in.Resources, f)
		return "a new " + f.Name
	case 7:
		if len(h.in.Resources) > 5 {
			h.in.Resources = append(h.in.Resources[:i:i], h.in.Resources[i+1:]...)
		}
		return "one resource less"
	case 8:
		h.serial++
		h.in.Nodes = append(h.in.Nodes, node(fmt.Sprintf("new%d", h.serial), "web"))
		return "a new node"
	case 9:
		if len(h.in.Nodes) > 3 {
			h.in.Nodes = append(h.in.Nodes[:j:j], h.in.Nodes[j+1:]...)
		}
		return "one node less"
	}
	return "nothing"
}

func TestEarlierCompilationsDoNotChangeTheResult(t *testing.T) {
	t.Parallel()

	for seed := range uint64(12) {
		h := newHistory(seed)
		var c compiler.Compiler
		for step := range 40 {
			what := h.step()
			if diff := cmp.Diff(encoded(t, compiler.Compile(h.in)), encoded(t, c.Compile(h.in))); diff != "" {
				t.Fatalf("seed %d, step %d, %s: the result with a history (+) differs from a new one (-):\n%s", seed, step, what, diff)
			}
		}
	}
}

func FuzzCompilerHistory(f *testing.F) {
	f.Add(uint64(1), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		h := newHistory(seed)
		var c compiler.Compiler
		c.Compile(h.in)
		for range steps % 32 {
			h.step()
			c.Compile(h.in)
		}
		if diff := cmp.Diff(encoded(t, compiler.Compile(h.in)), encoded(t, c.Compile(h.in))); diff != "" {
			t.Errorf("the result with a history (+) differs from a new one (-):\n%s", diff)
		}
	})
}

func TestEqualNodesShareAResult(t *testing.T) {
	t.Parallel()

	result := compiler.Compile(compiler.Input{
		Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web"), node("web-2", "web"), node("db-1", "db")},
		Resources: []v1alpha1.Resource{file("a", "/a"), file("b", "/b", on("db"))},
	})
	if result.Nodes["web-1"] != result.Nodes["web-2"] || result.Nodes["web-1"] == result.Nodes["db-1"] {
		t.Errorf("web-1 has %p, web-2 %p and db-1 %p", result.Nodes["web-1"], result.Nodes["web-2"], result.Nodes["db-1"])
	}
}

// A resource that is deleted and created again begins at generation 1.
func TestARecreatedResourceIsCompiledAgain(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web")}}
	var c compiler.Compiler
	var hashes []string
	for _, f := range []struct{ uid, path string }{{"1", "/a"}, {"2", "/b"}, {"2", "/b"}, {"", "/c"}, {"", "/d"}} {
		a := file("a", f.path)
		a.UID = types.UID(f.uid)
		in.Resources = []v1alpha1.Resource{a}
		if got, want := c.Compile(in).Nodes["web-1"], compiler.Compile(in).Nodes["web-1"]; got.Digest != want.Digest {
			t.Errorf("%+v: the result differs from a new compilation", f)
		}
		hashes = append(hashes, c.Compile(in).Nodes["web-1"].EntryHash("File/a"))
	}
	if hashes[0] == hashes[1] || hashes[1] != hashes[2] || hashes[3] == hashes[4] {
		t.Errorf("got hashes %v", hashes)
	}
}

func TestTheMessageOfAMissingReferenceFollowsTheFleet(t *testing.T) {
	t.Parallel()

	in := compiler.Input{
		Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web"), node("db-1", "db")},
		Resources: []v1alpha1.Resource{file("a", "/a", on("web"), requires("File/b"))},
	}
	var c compiler.Compiler
	before := c.Compile(in)
	in.Resources = append(in.Resources, file("b", "/b", on("db")))
	got := append(messages(before), messages(c.Compile(in))...)
	want := []string{
		"File/a||MissingReference|require names File/b, which does not exist; the node has File/a",
		"File/a||MissingReference|require names File/b, which does not apply to the same node: see its nodeSelector and when",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExpressionsAreEvaluatedAgainOnlyOnNodesThatChange(t *testing.T) {
	t.Parallel()

	in := compiler.Input{
		Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web"), node("web-2", "web")},
		Resources: []v1alpha1.Resource{
			file("a", "/a"), file("own", "/own", rendering("{{ .facts.os.family }}")), file("when", "/when", when(`facts.os.family == "Debian"`)),
		},
	}
	var decoded []string
	for i := range in.Nodes {
		facts := in.Nodes[i].Facts
		in.Nodes[i].Facts = func() resource.Facts {
			decoded = append(decoded, in.Nodes[i].Name)
			return facts()
		}
	}
	var c compiler.Compiler
	for _, step := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"the first compilation", func() {}, []string{"web-1", "web-2"}},
		{"without a change", func() {}, nil},
		{"with another resource", func() { in.Resources[0] = file("a", "/elsewhere") }, nil},
		{"with another label", func() { in.Nodes[0].Labels = map[string]string{"rack": "7"} }, []string{"web-1"}},
		{"with other facts", func() { in.Nodes[1].FactsKey = "2" }, []string{"web-2"}},
		{"with another template", func() { in.Resources[1] = file("own", "/own", rendering("{{ .facts.os }}")) }, []string{"web-1", "web-2"}},
		{"with another path", func() { in.Resources[1] = file("own", "/elsewhere", rendering("{{ .facts.os }}")) }, []string{"web-1", "web-2"}},
		{"without a node", func() { in.Nodes = in.Nodes[:1] }, nil},
	} {
		decoded = nil
		step.change()
		got := c.Compile(in)
		slices.Sort(decoded)
		if diff := cmp.Diff(step.want, decoded); diff != "" {
			t.Errorf("%s: nodes whose facts were decoded (-want +got):\n%s", step.what, diff)
		}
		if diff := cmp.Diff(encoded(t, compiler.Compile(in)), encoded(t, got)); diff != "" {
			t.Errorf("%s: not the result of a new compiler:\n%s", step.what, diff)
		}
	}
}
