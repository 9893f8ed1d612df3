package compiler_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// kibibytes returns the size of a value as JSON, rounded down.
func kibibytes(t *testing.T, v any) int {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(text) >> 10
}

func TestCatalogsHaveAtMost512KiB(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web")}}
	for i := range 2000 {
		in.Resources = append(in.Resources, file(fmt.Sprintf("f%04d", i), fmt.Sprintf("/f%d", i), content(strings.Repeat("x", 1<<10))))
	}
	result := compiler.Compile(in)
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

// size returns the size of a value as JSON, in bytes.
func size(t *testing.T, v any) int {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// compiledFor returns a result for one node, and its entries: those of its Catalog or its own.
func compiledFor(t *testing.T, resources ...v1alpha1.Resource) (compiler.Result, []v1alpha1.CatalogEntry) {
	t.Helper()
	result := compiler.Compile(compiler.Input{Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web")}, Resources: resources})
	entries, _, err := catalog.Assemble(result.Nodes["web-1"].Spec, func(name string) (*v1alpha1.Catalog, error) { return result.Catalogs[name], nil })
	if err != nil {
		t.Fatal(err)
	}
	return result, entries
}

func TestACatalogIsSplitBeyond512KiB(t *testing.T) {
	t.Parallel()

	const most = 512 << 10
	forAll := func(n int) func(*v1alpha1.File) { return content(strings.Repeat("x", n)) }
	// Content of a template is limited to less, but some text becomes longer as JSON.
	own := func(n int) func(*v1alpha1.File) {
		return rendering(fmt.Sprintf(`{{ repeat %d "<" }}{{ repeat %d "x" }}`, n/6, n%6))
	}
	for name, tt := range map[string]struct {
		content                     func(int) func(*v1alpha1.File)
		sizes                       []int // of entries
		applied, catalogs, problems int
	}{
		"one shared entry":                                {forAll, []int{most}, 1, 1, 0},
		"one shared entry that is too large":              {forAll, []int{most + 1}, 0, 0, 1},
		"two shared entries that fit one catalog":         {forAll, []int{most / 2, most / 2}, 2, 1, 0},
		"two shared entries that need two catalogs":       {forAll, []int{most / 2, most/2 + 1}, 2, 2, 0},
		"one own entry":                                   {own, []int{most}, 1, 0, 0},
		"one own entry that is too large":                 {own, []int{most + 1}, 0, 0, 1},
		"two own entries":                                 {own, []int{most / 2, most / 2}, 2, 0, 0},
		"two own entries of which one exceeds the budget": {own, []int{most / 2, most/2 + 1}, 1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, entries := compiledFor(t, file("0", "/0", tt.content(1)))
			empty := size(t, entries[0]) - 1
			var files []v1alpha1.Resource
			for i, n := range tt.sizes {
				files = append(files, file(fmt.Sprint(i), fmt.Sprintf("/%d", i), tt.content(n-empty)))
			}
			result, entries := compiledFor(t, files...)
			if len(entries) != tt.applied || len(result.Catalogs) != tt.catalogs || len(result.Problems) != tt.problems {
				t.Errorf("got %d entries, %d catalogs and %v", len(entries), len(result.Catalogs), messages(result))
			}
			for _, e := range entries {
				if got := size(t, e); !slices.Contains(tt.sizes, got) {
					t.Errorf("an entry has %d bytes, want one of %v", got, tt.sizes)
				}
			}
		})
	}
}

func TestALongMessageIsClipped(t *testing.T) {
	t.Parallel()

	failing := func(n int) (withheld, problem string) {
		result, _ := compiledFor(t, file("a", "/a", rendering(fmt.Sprintf(`{{ fail (repeat %d "x") }}`, n))))
		return result.Nodes["web-1"].Spec.Withheld[0].Message, result.Problems[0].Message
	}
	_, whole := failing(100)
	type left struct {
		bytes int
		cut   bool
	}
	for bytes, want := range map[int][2]left{
		256:  {{256, false}, {256, false}},
		257:  {{256, true}, {257, false}},
		1024: {{256, true}, {1024, false}},
		1025: {{256, true}, {1024, true}},
	} {
		withheld, problem := failing(bytes - len(whole) + 100)
		got := [2]left{{len(withheld), strings.HasSuffix(withheld, "...")}, {len(problem), strings.HasSuffix(problem, "...")}}
		if got != want {
			t.Errorf("of %d bytes %v are left, want %v", bytes, got, want)
		}
	}
}

// A node's own entries must fit into its NodeCatalog, whether they are rendered or sealed.
func TestOwnEntriesThatExceedTheSizeBudgetAreWithheld(t *testing.T) {
	t.Parallel()

	seal := func(n *compiler.Node, ref v1alpha1.ResourceRef, attribute string, from v1alpha1.SealedFrom) (v1alpha1.SealedValue, error) {
		return v1alpha1.SealedValue{Attribute: attribute, From: from, Key: n.PublicKey, Value: make([]byte, 150<<10)}, nil // 200 KiB as JSON
	}
	result := compiler.Compile(compiler.Input{
		Kinds: kinds(), Secret: secrets, Seal: seal, Nodes: []compiler.Node{node("web-1", "web"), keyless("web-2", "web")},
		Resources: []v1alpha1.Resource{
			file("a", "/a", rendering(`{{ repeat 250 (repeat 1024 "x") }}`)), file("b", "/b", fromSecret("token", "text")),
			file("c", "/c", fromSecret("token", "text")), file("d", "/d", requires("File/c")), file("e", "/e", rendering("{{ .node.name }}")), file("f", "/f"),
		},
	})
	want := outline{
		Nodes:    map[string]string{"web-1": "File/a File/b File/e File/f", "web-2": "File/a File/e File/f"},
		Withheld: map[string]string{"web-1": "File/c:TooLarge File/d:DependsOnProblem", "web-2": "File/b:WaitingForKey File/c:WaitingForKey File/d:WaitingForKey"},
		Problems: []string{
			"File/b|web-2|WaitingForKey|waits for the key of node web-2, which its agent has not published yet",
			"File/c|web-1|TooLarge|its 200 KiB exceed the remaining 61 of 512 KiB for the own entries of node web-1; File/a takes the most, 250 KiB: render less, or let nodes share it",
			"File/c|web-2|WaitingForKey|waits for the key of node web-2, which its agent has not published yet",
			"File/d|web-1|DependsOnProblem|waits for File/c, which is withheld: TooLarge",
			"File/d|web-2|WaitingForKey|waits for File/c, which is withheld: WaitingForKey",
		},
	}
	if diff := cmp.Diff(want, outlineOf(t, result)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASpecFitsHoweverManyResourcesAreWithheld(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Nodes: []compiler.Node{node("web-1", "web"), node("db-1", "db")}}
	in.Resources = append(in.Resources, file("own", "/own", rendering(`{{ repeat 370 (repeat 1024 "x") }}`)), file("good", "/good", on("db")))
	for i := range 4000 {
		in.Resources = append(in.Resources, file(fmt.Sprintf("f%04d-%s", i, strings.Repeat("n", 50)), fmt.Sprintf("/f%d", i), on("web"), when(strings.Repeat("<", 200))))
	}
	result := compiler.Compile(in)
	spec := result.Nodes["web-1"].Spec
	if size := kibibytes(t, spec); size >= catalog.MaxSpec>>10 {
		t.Errorf("the spec has %d KiB", size)
	}
	explained := 0
	for _, w := range spec.Withheld {
		if w.Message != "" {
			explained++
		}
	}
	if len(spec.Entries) != 1 || len(spec.Withheld) != 4000 || explained != 128 || spec.Withheld[0].Message == "" {
		t.Errorf("got %d entries, %d withheld and %d messages", len(spec.Entries), len(spec.Withheld), explained)
	}
	if len(result.Problems) != 4000 || !strings.Contains(result.Problems[3999].Message, "is invalid") {
		t.Errorf("of %d problems the last is %+v", len(result.Problems), result.Problems[len(result.Problems)-1])
	}
	outlineOf(t, result)
}
