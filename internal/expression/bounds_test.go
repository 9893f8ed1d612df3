package expression_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/expression"
)

const (
	overCost  = "it exceeds the limit of one evaluation, about 100 ms or 48 MiB: loop over less, or generate less text and shorter lists"
	overDepth = overCost + ": lists and maps are nested more than 64 deep"
)

// Each expression reaches its limit, and one more exceeds it.
func TestTemplatesMayReachTheirLimits(t *testing.T) {
	t.Parallel()

	blocks := func(begin string) func(int) string {
		return func(n int) string { return strings.Repeat("{{ "+begin+" }}", n) + strings.Repeat("{{ end }}", n) }
	}
	wraps := func(call string) func(int) string {
		return func(n int) string {
			return fmt.Sprintf(`{{ $x := "x" }}{{ range until %d }}{{ $x = %s $x }}{{ end }}{{ $y := print $x }}`, n, call)
		}
	}
	const (
		tooLong   = "content is longer than 384 KiB"
		tooNested = "if, with, range and parentheses are nested more than 64 deep: split the content into several files"
		tooDeep   = "parentheses are nested more than 64 deep: assign parts to variables"
	)
	for name, tt := range map[string]struct {
		text func(n int) string
		most int
		want string
	}{
		"bytes":   {func(n int) string { return strings.Repeat("x", n) }, 64 << 10, "it is 64 KiB long, and the limit is 64: use contentFrom for text that needs no template"},
		"content": {func(n int) string { return fmt.Sprintf(`{{ repeat %d "x" }}`, n) }, 384 << 10, tooLong},
		"content in parts": {
			func(n int) string {
				return fmt.Sprintf(`{{ $x := repeat 65536 "x" }}{{ range %d }}{{ $x }}{{ end }}`, n)
			}, 6, tooLong,
		},
		"if":          {blocks("if true"), 64, tooNested},
		"with":        {blocks("with 1"), 64, tooNested},
		"else":        {blocks("if false }}{{ else"), 64, tooNested},
		"parentheses": {func(n int) string { return "{{ " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + " }}" }, 64, tooDeep},
		"fields of a parenthesized expression": {
			func(n int) string { return "{{ " + strings.Repeat("(", n) + ".a" + strings.Repeat(").a", n) + " }}" }, 32, tooDeep,
		},
		"nested lists in a template": {wraps("list"), 64, overDepth},
		"nested maps in a template":  {wraps(`dict "a"`), 64, overDepth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := rendered(tt.text(tt.most)); err != nil && !strings.Contains(err.Error(), "no entry for key") {
				t.Errorf("%d: %v", tt.most, err)
			}
			if _, _, err := rendered(tt.text(tt.most + 1)); err == nil || err.Error() != tt.want {
				t.Errorf("%d: got %v, want %s", tt.most+1, err, tt.want)
			}
		})
	}
}

func TestConditionsMayReachTheirLimits(t *testing.T) {
	t.Parallel()

	and := func(part string) func(int) string {
		return func(n int) string { return strings.Repeat(part+" && ", n) + "true" }
	}
	const tooMany = "it has too many calls, macros and elements of lists: compare with a list by in, use several resources, or label nodes"
	for name, tt := range map[string]struct {
		text func(n int) string
		most int
		want string
	}{
		"bytes": {
			func(n int) string { return `"` + strings.Repeat("x", n-6) + `"!=""` }, 4096, "it is 4097 bytes long, and the limit is 4096: select by labels, or split the resource",
		},
		"calls":           {and(`size("a") == 1`), 44, tooMany},
		"macros":          {and(`[].all(x, true)`), 44, tooMany},
		"lists":           {and(`[] == []`), 29, tooMany},
		"maps":            {and(`{} == {}`), 29, tooMany},
		"entries of maps": {and(`{1: 2} == {1: 2}`), 19, tooMany},
		"elements":        {and(`[1, 2] == [1, 2]`), 19, tooMany},
		"nested macros": {
			func(n int) string { return strings.Repeat(`[].all(x, `, n) + "true" + strings.Repeat(")", n) }, 8,
			"all, exists, map and filter are nested more than 8 deep: use several resources, or label nodes",
		},
		"nested lists": {
			func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) + " == []" }, 6, "lists and maps are nested more than 6 deep: compare their parts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := holds(tt.text(tt.most)); err != nil {
				t.Errorf("%d: %v", tt.most, err)
			}
			if _, _, err := holds(tt.text(tt.most + 1)); err == nil || err.Error() != tt.want {
				t.Errorf("%d: got %v, want %s", tt.most+1, err, tt.want)
			}
		})
	}
}

func TestDeeplyNestedFactsCannotBeCompared(t *testing.T) {
	t.Parallel()

	nested := func(wrap func(any) any) func(int) any {
		return func(n int) any {
			var v any = "x"
			for range n {
				v = wrap(v)
			}
			return v
		}
	}
	for name, facts := range map[string]func(n int) any{
		"lists": nested(func(v any) any { return []any{v} }), "maps": nested(func(v any) any { return map[string]any{"a": v} }),
	} {
		c, err := new(expression.Environment).CompileWhen("facts == facts")
		if err != nil {
			t.Fatal(err)
		}
		// The map of facts is one level.
		if holds, _, err := c.Holds(map[string]any{"facts": map[string]any{"f": facts(63)}}, expression.MaxCost); err != nil || !holds {
			t.Errorf("%s: got %t, %v", name, holds, err)
		}
		if _, _, err := c.Holds(map[string]any{"facts": map[string]any{"f": facts(64)}}, expression.MaxCost); err == nil || err.Error() != overDepth {
			t.Errorf("%s: got %v, want %s", name, err, overDepth)
		}
	}
}

func TestExpensiveExpressionsExceedTheLimit(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		`{{ range 1000000 }}{{ end }}`:            overCost,
		`{{ $x := repeat 4000000 "x" }}`:          "",
		`{{ $x := repeat 6000000 "x" }}`:          overCost,
		`{{ $x := repeat 3 (repeat 999999 "") }}`: "",
	} {
		if _, _, err := rendered(text); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	matches := `facts.text.matches("` + strings.Repeat("x", 500) + `") || `
	for text, want := range map[string]string{
		matches + "true":                    "",
		strings.Repeat(matches, 3) + "true": overCost,
		`"x".replace("", "` + strings.Repeat("y", 2000) + `").replace("y", "` + strings.Repeat("z", 2000) + `") == ""`: overCost,
	} {
		if _, _, err := holds(text); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
	}
}

// The caller may allow less than MaxCost.
func TestAnEvaluationIsCutOffAtTheLimitOfItsCaller(t *testing.T) {
	t.Parallel()

	template, err := expression.ParseTemplate(`{{ range 10 }}{{ upper "x" }}{{ end }}`)
	if err != nil {
		t.Fatal(err)
	}
	condition, err := new(expression.Environment).CompileWhen(`[1, 2, 3].all(x, x > 0)`)
	if err != nil {
		t.Fatal(err)
	}
	for name, evaluate := range map[string]func(time int) (int, error){
		"template": func(time int) (int, error) { _, cost, err := template.Render(nil, time); return cost, err },
		"when":     func(time int) (int, error) { _, cost, err := condition.Holds(nil, time); return cost, err },
	} {
		whole, err := evaluate(expression.MaxCost)
		if err != nil {
			t.Fatal(err)
		}
		if cost, err := evaluate(whole); err != nil || cost != whole {
			t.Errorf("%s: in %d got %v, %v", name, whole, cost, err)
		}
		if cost, err := evaluate(whole - 1); !errors.Is(err, expression.ErrCutOff) || cost != whole-1 {
			t.Errorf("%s: in %d got %v, %v", name, whole-1, cost, err)
		}
	}
}

func TestParseDoesNotCheckNames(t *testing.T) {
	t.Parallel()

	var env expression.Environment
	if parsed, err := env.Parse("nothing.known == 1"); err != nil || parsed == nil {
		t.Errorf("got %v, %v", parsed, err)
	}
	for text, want := range map[string]string{
		"1 +":                     "line 1, column 4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
		strings.Repeat("x", 4097): "it is 4097 bytes long, and the limit is 4096: select by labels, or split the resource",
	} {
		if parsed, err := env.Parse(text); err == nil || err.Error() != want || parsed != nil {
			t.Errorf("%.20s: got %v, %v", text, parsed, err)
		}
	}
}
