package expression_test

import (
	"regexp"
	"testing"

	"github.com/fettle-dev/fettle/internal/expression"
)

// readsNode matches what reads the node in the tests, or may do so.
var readsNode = regexp.MustCompile(`\bnode\b|\{\{ [.$] \}\}|get \. |\(\.\)`)

func TestAConditionReadsFactsIfItNamesThem(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]bool{
		`true`:                         false,
		`node.name == "a"`:             false,
		`facts.os.family == "Debian"`:  true,
		`facts["os"].family == "x"`:    true,
		`.facts.os.family == "Debian"`: true,
		`"os" in facts`:                true,
		`has(facts.os)`:                true,
		`[1].all(x, x == 1)`:           false,
		`[1].all(x, x == facts.a)`:     true,
		`has(node.labels.facts)`:       false,
		`{"a": facts.a} == {}`:         true,
	} {
		c, err := new(expression.Environment).CompileWhen(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if c.ReadsFacts() != want {
			t.Errorf("%s: got %t", text, !want)
		}
		if reads := readsNode.MatchString(text); c.ReadsNode() != reads {
			t.Errorf("%s: reads the node: got %t", text, !reads)
		}
	}
}

func TestATemplateReadsFactsIfItMayReachThem(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]bool{
		``:                                  false,
		`text`:                              false,
		`{{ . }}`:                           true,
		`{{ $ }}`:                           true,
		`{{ get . "facts" }}`:               true,
		`{{ .node.name }}{{ .node.name }}`:  false,
		`{{ $x := .facts.os }}{{ $x.a }}`:   true,
		`{{ $x := .node }}{{ $x.facts }}`:   false,
		`{{ (.node.labels).a | upper }}`:    false,
		`{{ (.).facts }}`:                   true,
		`{{ index .node.labels "a" }}`:      false,
		`{{ index . "node" }}`:              true,
		`{{ upper (print .node.name .x) }}`: false,
		`{{ range .facts.list }}{{ end }}`:  true,
		`{{ range .node.labels }}{{ . }}{{ .facts }}{{ else }}{{ .node }}{{ end }}`: false,
		`{{ range .node.labels }}{{ else }}{{ .facts }}{{ end }}`:                   true,
		`{{ range .node.labels }}{{ $.facts.a }}{{ end }}`:                          true,
		`{{ with .node }}{{ .name }}{{ . }}{{ end }}`:                               false,
		`{{ with .node }}{{ end }}{{ . }}`:                                          true,
		`{{ if .node.name }}{{ .facts.a }}{{ end }}`:                                true,
		`{{ range $k, $v := .node.labels }}{{ $v.facts }}{{ end }}`:                 false,
	} {
		c, err := expression.ParseTemplate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if c.ReadsFacts() != want {
			t.Errorf("%s: got %t", text, !want)
		}
		if reads := readsNode.MatchString(text); c.ReadsNode() != reads {
			t.Errorf("%s: reads the node: got %t", text, !reads)
		}
	}
}
