package aliases_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/internal/aliases"
)

// Whatever aliases repeat, many short values or few long ones, in whatever nesting, is written out only within the limit.
func TestExpansionIsInProportionToTheDocument(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 50_000)
	nested := &strings.Builder{}
	fmt.Fprintf(nested, "l0: &l0 [a, b, c, d, e, f, g, h, i]\n")
	for i := range 12 {
		fmt.Fprintf(nested, "l%d: &l%d [%s*l%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*l%d, ", i), 8), i)
	}
	merged := &strings.Builder{}
	fmt.Fprintf(merged, "a: &a {%s}\n", strings.TrimSuffix(strings.Repeat("k: v, ", 1000), ", "))
	for i := range 1000 {
		fmt.Fprintf(merged, "m%d: {<<: *a}\n", i)
	}
	for name, text := range map[string]string{
		"a long text, often":   "a: &a " + long + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a, ", 1000), ", ") + "]\n",
		"nested lists":         nested.String(),
		"merges":               merged.String(),
		"keys":                 "a: &a " + long[:1000] + "\nb:\n" + strings.Repeat("- {*a : 1}\n", 1000),
		"two documents' first": "---\na: &a " + long + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a, ", 1000), ", ") + "]\n---\na: 1\n",
	} {
		if err := aliases.Check([]byte(text)); err == nil || !strings.Contains(err.Error(), "its aliases expand to more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a document within the limit takes as JSON is about what is measured.
func TestOrdinaryAliasesAreAllowed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"none":                   "a: b\n",
		"anchors alone":          "a: &a b\n",
		"a few":                  "a: &a {mode: \"0644\", owner: root}\nb: *a\nc: [*a, *a]\nd: {<<: *a, owner: bin}\n",
		"in a small file":        "a: &a " + strings.Repeat("word ", 20) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a, ", 40), ", ") + "]\n",
		"ampersands alone":       "run: |\n  a && b *.txt\n",
		"an alias defined again": "a: &a 1\nb: *a\nc: &a 2\nd: *a\n",
	} {
		size, err := aliases.Expanded([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil || len(raw) > 3*size.Bytes {
			t.Errorf("%s: %d bytes of JSON, measured as %d (%v)", name, len(raw), size.Bytes, err)
		}
	}
}

func TestAliasesOfThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: &a [*a]\n", "a: &a {b: &b [*a]}\nc: *b\n"} {
		if err := aliases.Check([]byte(text)); err == nil || !strings.Contains(err.Error(), "contains an alias of itself") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// No document that is within the limit decodes to more JSON than its measure allows for: six bytes for each, as \u0000. None has more
// entries.
func FuzzExpanded(f *testing.F) {
	f.Add("a: &a [b, c]\nd: *a\n")
	f.Add("a: &a b\n*a : {<<: {*a : 1}}\n")
	f.Add("&a [&b {}, *b, !!binary aGk=]\n")
	f.Add("- - ? - a\n    : b\n-\tc\n- [{}, [], {a, b}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		size, err := aliases.Expanded([]byte(text))
		if err != nil {
			return
		}
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		if n := entries(value); len(raw) > 12*size.Bytes+100 || n > size.Entries {
			t.Errorf("%q: %d bytes of JSON with %d entries, measured as %+v", text, len(raw), n, size)
		}
	})
}

// entries counts those of lists and maps.
func entries(value any) (n int) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			n += 1 + entries(each)
		}
	case map[string]any:
		for _, each := range v {
			n += 1 + entries(each)
		}
	}
	return n
}
