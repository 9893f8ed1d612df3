package compiler_test

import (
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

// On each node the when costs about one percent of the limit for all nodes.
func TestDeletedNodesDoNotCountTowardsTheLimit(t *testing.T) {
	t.Parallel()

	in := compiler.Input{Kinds: kinds(), Resources: []v1alpha1.Resource{file("a", "/a", when(expensiveWhen+`node.name != ""`), on("web"))}}
	var c compiler.Compiler
	for _, step := range []struct {
		nodes []compiler.Node
		over  bool
	}{
		{webs(20), false},
		{webs(200), true},
		{webs(200)[180:], false},
		{append(webs(20), off(webs(200)[20:])...), false},
	} {
		in.Nodes = step.nodes
		if got := len(c.Compile(in).Problems) > 0; got != step.over {
			t.Errorf("%d nodes: over the limit is %t", len(step.nodes), got)
		}
	}
}

func off(nodes []compiler.Node) []compiler.Node {
	for i := range nodes {
		nodes[i].Labels["role"] = "db"
	}
	return nodes
}

func TestExpressionsReadTheirOwnNode(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("x", 200)
	facts := func(is resource.Facts) func() resource.Facts { return func() resource.Facts { return is } }
	a := compiler.Node{
		Name: "a", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"n": "1", "long": long + "1"},
		Facts: facts(resource.Facts{"yes": true, "text": "1", "list": []any{1.0}, "long": long + "1"}),
	}
	b := compiler.Node{
		Name: "b", Labels: map[string]string{"l": "2"}, Annotations: map[string]string{"n": "2", "long": long + "2"},
		Facts: facts(resource.Facts{"yes": false, "text": "2", "list": []any{2.0}, "long": long + "2"}),
	}
	c := compiler.Node{Name: "c", Facts: facts(resource.Facts{"yes": nil, "text": 2.0})}
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
		result := compiler.Compile(compiler.Input{Nodes: []compiler.Node{a, b, c}, Kinds: kinds(), Resources: []v1alpha1.Resource{file("f", "/f", when(expression))}})
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
		result := compiler.Compile(compiler.Input{Nodes: []compiler.Node{a, b, c}, Kinds: kinds(), Resources: []v1alpha1.Resource{file("f", "/f", rendering(template))}})
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
