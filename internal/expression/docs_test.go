package expression_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/expression"
)

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDocumentationListsTheFunctions(t *testing.T) {
	t.Parallel()

	ofWhen, err := new(expression.Environment).Functions()
	if err != nil {
		t.Fatal(err)
	}
	for of, names := range map[string][]string{"when": ofWhen, "templates": expression.Functions()} {
		_, after, _ := strings.Cut(document(t), "<!-- functions of "+of+" -->\n")
		got, _, _ := strings.Cut(after, "\n")
		if want := "`" + strings.Join(names, "`, `") + "`"; got != want {
			t.Errorf("functions of %s: docs/expressions.md should say\n%s", of, want)
		}
	}
}

func TestTheExamplesOfTheDocumentationWork(t *testing.T) {
	t.Parallel()

	vars := map[string]any{
		"facts": map[string]any{
			"os":          map[string]any{"family": "Debian", "release": map[string]any{"major": "12"}},
			"processors":  map[string]any{"count": 4.0},
			"networking":  map[string]any{"fqdn": "web-1.example.com"},
			"mountpoints": map[string]any{"/": map[string]any{"filesystem": "xfs"}},
		},
		"node": map[string]any{"name": "web-1", "labels": map[string]any{"role": "web"}, "annotations": map[string]string{}},
	}
	var env expression.Environment
	for text := range strings.SplitSeq(strings.TrimSpace(example(t, "cel")), "\n") {
		c, err := env.CompileWhen(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if holds, _, err := c.Holds(vars, expression.MaxCost); err != nil || !holds {
			t.Errorf("%s: got %v, %v", text, holds, err)
		}
	}
	const want = "# web-1, Debian\n/ is xfs\nworkers 8\nrole WEB\n"
	c, err := expression.ParseTemplate(example(t, "gotemplate"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.Render(vars, expression.MaxCost); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func example(t *testing.T, language string) string {
	t.Helper()
	_, after, _ := strings.Cut(document(t), "```"+language+"\n")
	text, _, _ := strings.Cut(after, "```")
	return text
}
