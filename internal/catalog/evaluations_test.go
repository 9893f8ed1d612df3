package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/resource"
)

// All may take some time each, and a total together: an equal part of one half of it, and then of what is left.
func TestTimeIsDividedAmongEvaluations(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		each, total int
		needs       []int
		over        map[int]bool
	}{
		"nothing takes none":                     {10, 10, nil, map[int]bool{}},
		"all have what they need":                {100, 100, []int{10, 10}, map[int]bool{}},
		"each has its limit and no more":         {100, 1000, []int{100, 101}, map[int]bool{1: true}},
		"what one leaves is for those that need": {100, 120, []int{10, 55, 56}, map[int]bool{2: true}},
		"what is left goes in equal parts":       {100, 120, []int{56, 10, 90}, map[int]bool{0: true, 2: true}},
		"each has its part of one half":          {1000, 100, []int{25, 900}, map[int]bool{1: true}},
		"one alone has the total":                {1000, 100, []int{100}, map[int]bool{}},
		"and no more":                            {1000, 100, []int{101}, map[int]bool{0: true}},
	} {
		if diff := cmp.Diff(tt.over, catalog.Afford(tt.each, tt.total, tt.needs...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// racks are nodes that are labelled with the racks from one to before another, some in each.
func racks(from, to int, names ...string) []catalog.Node {
	var all []catalog.Node
	for rack := from; rack < to; rack++ {
		for _, name := range names {
			n := node(fmt.Sprintf("%s-%d", name, rack), "web")
			n.Labels["rack"] = fmt.Sprint(rack)
			all = append(all, n)
		}
	}
	return all
}

// Each rack takes 8 ms of the 100 ms that a when may take.
func TestEvaluationsCountWhileANodeHasThem(t *testing.T) {
	t.Parallel()

	in := catalog.Input{Kinds: kinds(), Resources: []v1alpha1.Resource{file("a", "/a", when(expensiveWhen+`node.labels.rack != ""`), on("web"))}}
	var c catalog.Compiler
	for _, step := range []struct {
		what  string
		nodes []catalog.Node
		over  bool
	}{
		{"two nodes in each of eight racks", racks(0, 8, "a", "b"), false},
		{"one node in each, and eight more racks", append(racks(0, 8, "b"), racks(8, 16, "a")...), true},
		{"the other racks alone", racks(8, 16, "a"), false},
		{"the first racks alone", racks(0, 8, "a"), false},
		{"nodes that it is not for, too", append(racks(0, 8, "a"), off(racks(8, 16, "b"))...), false},
	} {
		in.Nodes = step.nodes
		result := c.Compile(in)
		if got := len(result.Problems) > 0; got != step.over {
			t.Errorf("%s: over the limit is %t", step.what, got)
		}
		for name, again := range c.Compile(in).Nodes {
			if again != result.Nodes[name] {
				t.Errorf("%s: %s was made again, and nothing has changed", step.what, name)
			}
		}
	}
}

func off(nodes []catalog.Node) []catalog.Node {
	for i := range nodes {
		nodes[i].Labels["role"] = "db"
	}
	return nodes
}

func TestNodesThatDifferInWhatIsReadHaveTheirOwn(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 200)
	facts := func(is resource.Facts) func() resource.Facts { return func() resource.Facts { return is } }
	a := catalog.Node{
		Name: "a", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"n": "1", "long": long + "1"},
		Facts: facts(resource.Facts{"yes": true, "text": "1", "list": []any{1.0}, "long": long + "1"}),
	}
	b := catalog.Node{
		Name: "b", Labels: map[string]string{"l": "2"}, Annotations: map[string]string{"n": "2", "long": long + "2"},
		Facts: facts(resource.Facts{"yes": false, "text": "2", "list": []any{2.0}, "long": long + "2"}),
	}
	c := catalog.Node{Name: "c", Facts: facts(resource.Facts{"yes": nil, "text": 2.0})}
	for expression, want := range map[string]string{
		`node.name == "a"`:                            "a",
		`node.labels == {"l": "1"}`:                   "a",
		`"l" in node.labels`:                          "a b",
		`has(node.labels.l)`:                          "a b",
		`!has(node.labels.l)`:                         "c",
		`"n" in node.annotations`:                     "a b",
		`has(node.annotations.n)`:                     "a b",
		`size(node) == 3 && node.name != "c"`:         "a b",
		`has(facts.list) && facts.list == [1.0]`:      "a",
		`facts.yes == true`:                           "a",
		`facts.text == "2"`:                           "b",
		`has(facts.long) && facts.long.endsWith("1")`: "a",
		`node.annotations == {} || size(facts) == 4`:  "a b c",
	} {
		result := catalog.Compile(catalog.Input{Nodes: []catalog.Node{a, b, c}, Kinds: kinds(), Resources: []v1alpha1.Resource{file("f", "/f", when(expression))}})
		if got := strings.Join(result.Selected["File/f"], " "); got != want || len(result.Problems) > 0 {
			t.Errorf("%s: selects %q, want %q: %v", expression, got, want, messages(result))
		}
	}
	for template, want := range map[string]string{
		`{{ .node.name }}`:                                     "a, b, c",
		`{{ .node.labels }}`:                                   "map[l:1], map[l:2], map[]",
		`{{ get .node.annotations "n" }}`:                      "1, 2, ",
		`{{ range $k, $v := . }}{{ $k }} {{ end }}`:            "facts node , facts node , facts node ",
		`{{ .facts.yes }} {{ .facts.text }}`:                   "true 1, false 2, <no value> 2",
		`{{ get .facts "list" }}`:                              "[1], [2], ",
		`{{ with .node.annotations }}{{ .long | len }}{{end}}`: "201, 201, ",
	} {
		var got []string
		result := catalog.Compile(catalog.Input{Nodes: []catalog.Node{a, b, c}, Kinds: kinds(), Resources: []v1alpha1.Resource{file("f", "/f", rendering(template))}})
		if len(result.Problems) > 0 {
			t.Errorf("%s: %v", template, messages(result))
			continue
		}
		for _, name := range []string{"a", "b", "c"} {
			raw := string(result.Nodes[name].Spec.Entries[0].Attributes.Raw)
			text, _, _ := strings.Cut(strings.TrimPrefix(raw, `{"content":"`), `","path":"/f"}`)
			got = append(got, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%s: got %q, want %q", template, got, want)
		}
	}
}
