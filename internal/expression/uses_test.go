package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/expression"
)

func TestAConditionUsesThePathsThatItReads(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]struct {
		uses  expression.Uses
		facts bool
	}{
		`true`:                                   {nil, false},
		`node.name == "a"`:                       {expression.Uses{{"node", "name"}}, false},
		`facts.os.family == "Debian"`:            {expression.Uses{{"facts", "os", "family"}}, true},
		`facts["os"].family == node.labels["a"]`: {expression.Uses{{"facts", "os", "family"}, {"node", "labels", "a"}}, true},
		`facts.list[1] == 1`:                     {expression.Uses{{"facts", "list"}}, true},
		`facts[node.name] == 1`:                  {expression.Uses{{"facts"}, {"node", "name"}}, true},
		`facts["a" + "b"] == 1`:                  {expression.Uses{{"facts"}}, true},
		`facts.a + facts.b == facts.a`:           {expression.Uses{{"facts", "a"}, {"facts", "b"}}, true},
		`[1].all(x, x == 1)`:                     {nil, false},
		`.node.name == "a"`:                      {expression.Uses{{"node", "name"}}, false},
		`has(node.labels.a)`:                     {expression.Uses{{"node", "labels", "a"}}, false},
		`{"a": facts.a} == {}`:                   {expression.Uses{{"facts", "a"}}, true},
	} {
		c, err := new(expression.Environment).CompileWhen(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want.uses, c.Uses()); diff != "" || c.Uses().Facts() != want.facts {
			t.Errorf("%s: facts is %t (-want +got):\n%s", text, c.Uses().Facts(), diff)
		}
	}
}

func TestATemplateUsesThePathsThatItReads(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]struct {
		uses  expression.Uses
		facts bool
	}{
		``:                                  {nil, false},
		`text`:                              {nil, false},
		`{{ . }}`:                           {expression.Uses{{}}, true},
		`{{ $ }}`:                           {expression.Uses{{}}, true},
		`{{ .node.name }}{{ .node.name }}`:  {expression.Uses{{"node", "name"}}, false},
		`{{ $x := .facts.os }}{{ $x.a }}`:   {expression.Uses{{"facts", "os"}}, true},
		`{{ (.node.labels).a | upper }}`:    {expression.Uses{{"node", "labels"}}, false},
		`{{ index .node.labels "a" }}`:      {expression.Uses{{"node", "labels"}}, false},
		`{{ upper (print .node.name .x) }}`: {expression.Uses{{"node", "name"}, {"x"}}, false},
		`{{ range .facts.list }}{{ .name }}{{ $.node.name }}{{ else }}{{ .node.labels }}{{ end }}`: {
			expression.Uses{{"facts", "list"}, {"node", "labels"}, {"node", "name"}}, true,
		},
		`{{ with .node }}{{ .name }}{{ . }}{{ end }}`:           {expression.Uses{{"node"}}, false},
		`{{ if .node.name }}{{ .facts.a }}{{ end }}`:            {expression.Uses{{"facts", "a"}, {"node", "name"}}, true},
		`{{ range $k, $v := .node.labels }}{{ $v.a }}{{ end }}`: {expression.Uses{{"node", "labels"}}, false},
	} {
		c, err := expression.ParseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want.uses, c.Uses()); diff != "" || c.Uses().Facts() != want.facts {
			t.Errorf("%s: facts is %t (-want +got):\n%s", text, c.Uses().Facts(), diff)
		}
	}
}
