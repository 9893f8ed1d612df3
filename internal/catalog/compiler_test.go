package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A history is a fleet that something happens to, again and again.
type history struct {
	*rand.Rand
	in         catalog.Input
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

// changed does what an API server does to an object whose spec has changed.
func (h *history) changed(r v1alpha1.Resource) {
	h.serial++
	r.SetUID(types.UID(r.KindName() + r.GetName()))
	r.SetGeneration(int64(h.serial))
}

// step changes one thing, or nothing.
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

func TestWhatCameBeforeChangesNoAnswer(t *testing.T) {
	t.Parallel()

	for seed := range uint64(12) {
		h := newHistory(seed)
		var c catalog.Compiler
		for step := range 40 {
			what := h.step()
			if diff := cmp.Diff(encoded(t, catalog.Compile(h.in)), encoded(t, c.Compile(h.in))); diff != "" {
				t.Fatalf("seed %d, step %d, %s: compiled again (+) it is not what it is from the start (-):\n%s", seed, step, what, diff)
			}
		}
	}
}

func FuzzCompilerHistory(f *testing.F) {
	f.Add(uint64(1), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		h := newHistory(seed)
		var c catalog.Compiler
		c.Compile(h.in)
		for range steps % 32 {
			h.step()
			c.Compile(h.in)
		}
		if diff := cmp.Diff(encoded(t, catalog.Compile(h.in)), encoded(t, c.Compile(h.in))); diff != "" {
			t.Errorf("compiled again (+) it is not what it is from the start (-):\n%s", diff)
		}
	})
}

func TestNodesThatHaveAllInCommonShareAResult(t *testing.T) {
	t.Parallel()

	result := catalog.Compile(catalog.Input{
		Kinds: kinds(), Nodes: []catalog.Node{node("web-1", "web"), node("web-2", "web"), node("db-1", "db")},
		Resources: []v1alpha1.Resource{file("a", "/a"), file("b", "/b", on("db"))},
	})
	if result.Nodes["web-1"] != result.Nodes["web-2"] || result.Nodes["web-1"] == result.Nodes["db-1"] {
		t.Errorf("web-1 has %p, web-2 %p and db-1 %p", result.Nodes["web-1"], result.Nodes["web-2"], result.Nodes["db-1"])
	}
}

// A resource that was deleted and created again begins at generation 1 again.
func TestAResourceOfAnotherUIDIsAnotherResource(t *testing.T) {
	t.Parallel()

	in := catalog.Input{Kinds: kinds(), Nodes: []catalog.Node{node("web-1", "web")}}
	var c catalog.Compiler
	var hashes []string
	for _, f := range []struct{ uid, path string }{{"1", "/a"}, {"2", "/b"}, {"2", "/b"}, {"", "/c"}, {"", "/d"}} {
		a := file("a", f.path)
		a.UID = types.UID(f.uid)
		in.Resources = []v1alpha1.Resource{a}
		if got, want := c.Compile(in).Nodes["web-1"], catalog.Compile(in).Nodes["web-1"]; got.Digest != want.Digest {
			t.Errorf("%+v: not what it is from the start", f)
		}
		hashes = append(hashes, c.Compile(in).Nodes["web-1"].EntryHash("File/a"))
	}
	if hashes[0] == hashes[1] || hashes[1] != hashes[2] || hashes[3] == hashes[4] {
		t.Errorf("got hashes %v", hashes)
	}
}

func TestAMissingReferenceThatComesElsewhereIsExplainedAgain(t *testing.T) {
	t.Parallel()

	in := catalog.Input{
		Kinds: kinds(), Nodes: []catalog.Node{node("web-1", "web"), node("db-1", "db")},
		Resources: []v1alpha1.Resource{file("a", "/a", on("web"), requires("File/b"))},
	}
	var c catalog.Compiler
	before := c.Compile(in)
	in.Resources = append(in.Resources, file("b", "/b", on("db")))
	got := append(messages(before), messages(c.Compile(in))...)
	want := []string{
		"File/a||MissingReference|require names File/b, which does not exist; on the node there are File/a",
		"File/a||MissingReference|require names File/b, which does not apply to the same node: see its nodeSelector and when",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatDidNotChangeIsTheSameAgain(t *testing.T) {
	t.Parallel()

	in := catalog.Input{
		Kinds: kinds(), Nodes: []catalog.Node{node("web-1", "web"), node("web-2", "web"), node("db-1", "db")},
		Resources: []v1alpha1.Resource{
			file("a", "/a", on("web")), file("b", "/b", on("db")),
			file("own", "/own", on("web"), rendering("{{ .node.name }}")), file("when", "/when", on("web"), when(`facts.os.family == "Debian"`)),
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
	var c catalog.Compiler
	first := c.Compile(in)
	decoded = nil
	in.Resources[1] = file("b", "/elsewhere", on("db"))
	again := c.Compile(in)
	for _, name := range []string{"web-1", "web-2"} {
		if first.Nodes[name] != again.Nodes[name] {
			t.Errorf("%s was compiled again, and nothing of it has changed", name)
		}
	}
	if first.Nodes["db-1"] == again.Nodes["db-1"] || first.Nodes["db-1"].Digest == again.Nodes["db-1"].Digest {
		t.Error("db-1 is as it was, and its File/b is another")
	}
	if len(decoded) > 0 {
		t.Errorf("the facts of %v were decoded again", decoded)
	}
	in.Nodes[0].Labels = map[string]string{"role": "web", "rack": "7"}
	if last := c.Compile(in); last.Nodes["web-2"] != again.Nodes["web-2"] {
		t.Error("web-2 was compiled again, and only web-1 has changed")
	}
	if diff := cmp.Diff([]string{"web-1"}, decoded); diff != "" {
		t.Errorf("facts that were decoded: (-want +got):\n%s", diff)
	}
}
