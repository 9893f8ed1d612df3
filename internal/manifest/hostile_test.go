package manifest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/manifest"
)

// A document takes memory in proportion to its size, whatever it repeats and however it is nested, and a fault says what to change.
func TestDocumentsThatTakeMuchMemoryAreRefused(t *testing.T) {
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

// An object with very many field errors has as many faults as a person reads, which take no longer than that.
func TestFieldErrorsOfAnObjectAreLimited(t *testing.T) {
	repeated := func(format string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format, i)
		}
		return text.String()
	}
	const n = 5000
	for name, text := range map[string]string{
		"unknown fields":  strings.Replace(motd, "content", repeated("x%d: 1, ", n)+"content", 1),
		"duplicate keys":  motd + "a: {" + repeated("b: %d, ", n) + "}\n",
		"wrong items":     strings.Replace(motd, "content", "require: ["+repeated("%d, ", n)+"], content", 1),
		"labels":          strings.Replace(motd, "name: motd", "name: motd, labels: {"+repeated("a%d: b c, ", n)+"}", 1),
		"a list's fields": "kind: List\napiVersion: v1\n" + repeated("x%d: 1\n", n) + "items:\n- " + strings.Replace(group, "\n", "\n  ", 3) + repeated("x%d: 1, ", n),
	} {
		faults := faults(in(t, text))
		if len(faults) == 0 || len(faults) > 51 {
			t.Errorf("%s: %d faults", name, len(faults))
		} else if last := faults[len(faults)-1]; name != "a list's fields" && !strings.HasSuffix(last, "and more: correct these first") {
			t.Errorf("%s: the last of %d is %s", name, len(faults), last)
		}
		if all := strings.Join(faults, ""); len(all) > 120_000 {
			t.Errorf("%s: the faults have %d bytes", name, len(all))
		}
	}
	set := in(t, strings.Replace(motd, "content", strings.Repeat("x", 1_000_000)+": 1, content", 1))
	if text := strings.Join(faults(set), ""); text == "" || len(text) > 10_000 {
		t.Errorf("a long name: the faults have %d bytes", len(text))
	}
}

// What takes too much is refused before it is parsed, where it can be.
func TestOutlineHasLimits(t *testing.T) {
	limits := manifest.Limits{Objects: 300, EntriesOfObject: 100, Bytes: 1 << 20, Entries: 1000}
	anchor := "b: &b 1\nc: *b\n"
	for name, test := range map[string]struct{ text, want string }{
		"entries of a flow":     {motd + "a: [" + strings.Repeat("a: 1, ", 1000) + "]\n", "more than 1000 entries"},
		"entries of blocks":     {motd + "a:\n" + strings.Repeat("-\n", 1001), "more than 1000 entries"},
		"entries of JSON":       {`{"kind":"File","a":[` + strings.Repeat("{},", 1000) + "{}]}", "more than 1000 entries"},
		"entries and an alias":  {motd + anchor + "a: [" + strings.Repeat("1, ", 1000) + "]\n", "more than 1000 entries"},
		"entries of aliases":    {motd + "b: &b [" + strings.Repeat("1, ", 100) + "]\na: [" + strings.Repeat("*b, ", 12) + "]\n", "more than 1000 entries"},
		"entries of documents":  {strings.Repeat(motd+"---\n", 200), "more than 1000 entries"},
		"entries of one object": {motd + "a: [" + strings.Repeat("1, ", 200) + "]\n", "File/motd: its lists and maps have more than 100 entries"},
		"a long text":           {strings.Replace(motd, "hello", `"`+strings.Repeat("[, ", 100)+`"`, 1), ""},
	} {
		objects, faults, err := manifest.Outline(t.Context(), stdin(test.text), limits)
		got := fmt.Sprint(faults, err)
		if test.want == "" && (len(objects) != 1 || err != nil) || !strings.Contains(got, test.want) {
			t.Errorf("%s: %d objects, %s", name, len(objects), got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if objects, _, err := manifest.Outline(ctx, stdin(strings.Repeat(motd+"---\n", 5)), limits); len(objects) > 1 || err == nil {
		t.Errorf("without a caller: %d objects, %v", len(objects), err)
	}
}

// A List is parsed once for the lines of all of its items, not for each of them.
func TestFindingLinesOfItemsTakesLinearMemory(t *testing.T) {
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
