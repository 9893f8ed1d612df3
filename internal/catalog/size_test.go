package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
)

// kibibytes is what something takes as JSON, rounded down.
func kibibytes(t *testing.T, v any) int {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(text) >> 10
}

func TestNoCatalogTakesMoreThan512KiB(t *testing.T) {
	t.Parallel()

	in := catalog.Input{Kinds: kinds(), Nodes: []catalog.Node{node("web-1", "web")}}
	for i := range 2000 {
		in.Resources = append(in.Resources, file(fmt.Sprintf("f%04d", i), fmt.Sprintf("/f%d", i), content(strings.Repeat("x", 1<<10))))
	}
	result := catalog.Compile(in)
	if len(result.Problems) > 0 || len(result.Nodes["web-1"].Spec.Catalogs) != 5 || len(result.Catalogs) != 5 {
		t.Errorf("got %d catalogs, of which the node has %d: %v", len(result.Catalogs), len(result.Nodes["web-1"].Spec.Catalogs), result.Problems)
	}
	for name, c := range result.Catalogs {
		if size := kibibytes(t, c); size > 513 {
			t.Errorf("%s has %d KiB", name, size)
		}
	}
	outlineOf(t, result)
}

// What is a node's own has to fit into its NodeCatalog, whether it is rendered or sealed.
func TestWhatIsANodesOwnFitsOrSaysWhatTakesTheRoom(t *testing.T) {
	t.Parallel()

	seal := func(n *catalog.Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
		return v1alpha1.SealedValue{Attribute: attribute, From: from, Key: n.PublicKey, Value: make([]byte, 150<<10)}, nil // 200 KiB as JSON
	}
	result := catalog.Compile(catalog.Input{
		Kinds: kinds(), Secret: secrets, Seal: seal, Nodes: []catalog.Node{node("web-1", "web"), keyless("web-2", "web")},
		Resources: []v1alpha1.Resource{
			file("a", "/a", rendering(`{{ repeat 250 (repeat 1024 "x") }}`)), file("b", "/b", fromSecret("token", "text")),
			file("c", "/c", fromSecret("token", "text")), file("d", "/d", requires("File/c")), file("e", "/e", rendering("{{ .node.name }}")), file("f", "/f"),
		},
	})
	want := outline{
		Nodes:    map[string]string{"web-1": "File/a File/b File/e File/f", "web-2": "File/a File/e File/f"},
		Withheld: map[string]string{"web-1": "File/c:TooLarge File/d:DependsOnProblem", "web-2": "File/b:WaitingForKey File/c:WaitingForKey File/d:WaitingForKey"},
		Problems: []string{
			"File/b|web-2|WaitingForKey|waits for the key of node web-2, which its agent has yet to publish",
			"File/c|web-1|TooLarge|it takes 200 KiB, and of 512 KiB for what is node web-1's own 61 are left; File/a takes most of it, 250 KiB: render less, or let nodes share it",
			"File/c|web-2|WaitingForKey|waits for the key of node web-2, which its agent has yet to publish",
			"File/d|web-1|DependsOnProblem|waits for File/c, which is withheld: TooLarge",
			"File/d|web-2|WaitingForKey|waits for File/c, which is withheld: WaitingForKey",
		},
	}
	if diff := cmp.Diff(want, outlineOf(t, result)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASpecFitsHoweverMuchIsWithheld(t *testing.T) {
	t.Parallel()

	in := catalog.Input{Kinds: kinds(), Nodes: []catalog.Node{node("web-1", "web"), node("db-1", "db")}}
	in.Resources = append(in.Resources, file("own", "/own", rendering(`{{ repeat 370 (repeat 1024 "x") }}`)), file("good", "/good", on("db")))
	for i := range 4000 {
		in.Resources = append(in.Resources, file(fmt.Sprintf("f%04d-%s", i, strings.Repeat("n", 50)), fmt.Sprintf("/f%d", i), on("web"), when(strings.Repeat("<", 200))))
	}
	result := catalog.Compile(in)
	spec := result.Nodes["web-1"].Spec
	if size := kibibytes(t, spec); size >= catalog.MaxSpec>>10 {
		t.Errorf("the spec has %d KiB", size)
	}
	said := 0
	for _, w := range spec.Withheld {
		if w.Message != "" {
			said++
		}
	}
	if len(spec.Entries) != 1 || len(spec.Withheld) != 4000 || said < 100 || said == 4000 || spec.Withheld[0].Message == "" {
		t.Errorf("got %d entries, %d withheld and %d messages", len(spec.Entries), len(spec.Withheld), said)
	}
	if len(result.Problems) != 4000 || !strings.Contains(result.Problems[3999].Message, "is invalid") {
		t.Errorf("of %d problems the last is %+v", len(result.Problems), result.Problems[len(result.Problems)-1])
	}
	outlineOf(t, result)
}
