package manifest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A document takes memory in proportion to its size, whatever it repeats and however it is nested, and a fault says what to change.
func TestDocumentsThatGrowAreRefused(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	lists := func(levels int) string {
		return strings.Repeat(`{"kind":"List","apiVersion":"v1","items":[`, levels) + strings.Repeat("]}", levels)
	}
	for name, test := range map[string]struct{ text, want string }{
		"aliases of a long text":    {motd + "---\na: &a " + long + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a, ", 5000), ", ") + "]\n", "its aliases expand to more than"},
		"aliases of a List's items": {"kind: List\nitems:\n- &a {kind: File, spec: {content: " + long + "}}\n" + strings.Repeat("- *a\n", 5000), "its aliases expand to more than"},
		"nested YAML":               {"a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested more than 100 levels deep"},
		"nested JSON":               {`{"a":` + strings.Repeat(`{"[\"":`, 5000) + "1" + strings.Repeat("}", 5000) + "}", "nested more than 100 levels deep"},
		"nested Lists":              {lists(40), "Lists are nested more than 3 levels deep"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		set := in(t, test.text)
		runtime.ReadMemStats(&after)
		if len(set.Faults) != 1 || !strings.Contains(set.Faults[0].Error(), test.want) {
			t.Errorf("%s: %.300v", name, set.Faults)
		}
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(50*len(test.text)+10<<20); got > limit {
			t.Errorf("%s: %d KiB are allocated for %d", name, got>>10, len(test.text)>>10)
		}
	}
}

// A List is parsed once for the lines of all of its items, not for each of them.
func TestLinesOfItemsTakeMemoryInProportion(t *testing.T) {
	allocated := func(items int) uint64 {
		var text strings.Builder
		text.WriteString("kind: List\napiVersion: v1\nitems:\n")
		for i := range items {
			fmt.Fprintf(&text, "- {apiVersion: fettle.dev/v1alpha1, kind: Group, metadata: {name: g%d}, spec: {nodeSelector: {}, gid: %d}}\n", i, i-1)
			fmt.Fprintf(&text, "- {apiVersion: fettle.dev/v1alpha1, kind: Group, metadata: {name: b%d}, spec: {colour: red}}\n", i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		set := in(t, text.String())
		runtime.ReadMemStats(&after)
		if len(set.Documents)+len(set.Faults) < 2*items {
			t.Fatalf("%d documents, %d faults", len(set.Documents), len(set.Faults))
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(10) // compiles the schema
	few, many := allocated(50), allocated(500)
	if many > 15*few {
		t.Errorf("ten times as many items take %d KiB instead of %d", many>>10, few>>10)
	}
}
