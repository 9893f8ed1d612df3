package definition_test

import (
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

// named returns a definition with Namevars a, b, ... of type string.
func named(separator string, n int, foldCase bool) *definition.Definition {
	d := &definition.Definition{}
	d.Spec.NamevarSeparator = separator
	for i := range n {
		d.Spec.Attributes = append(d.Spec.Attributes, v1alpha1.ExternalAttribute{
			Name: string(rune('a' + i)), Behaviour: v1alpha1.BehaviourNamevar, CaseInsensitive: foldCase,
		})
	}
	return d
}

func TestNamesOfSeveralNamevarsAreEscapedIfAmbiguous(t *testing.T) {
	t.Parallel()

	for name, parts := range map[string][]string{
		"www.example.org/A": {"www.example.org", "A"},
		"a/b/c":             {"a", "b/c"},
		`a\/b/c`:            {"a/b", "c"},
		`\/etc\/x.ini/k`:    {"/etc/x.ini", "k"},
		`HKCU\Software/v`:   {`HKCU\Software`, "v"},
		`C:\\/v`:            {`C:\`, "v"},
		`/x`:                {"", "x"},
		`x/`:                {"x", ""},
	} {
		d := named("/", 2, false)
		if got := d.Join(parts); got != name {
			t.Errorf("%q is %s, want %s", parts, got, name)
		}
		if got, ok := d.Split(name); !ok || !slices.Equal(got, parts) {
			t.Errorf("%s is %q, want %q", name, got, parts)
		}
	}
	if parts, ok := named("/", 2, false).Split("a"); ok {
		t.Errorf("a is %q", parts)
	}
}

func TestNamesThatOnlyDifferInCaseAreEqualWhereTypesIgnoreIt(t *testing.T) {
	t.Parallel()

	for _, same := range [][]string{{"WEB", "web", "Web"}, {"\u00e4\u03c3", "\u00c4\u03a3", "\u00c4\u03c2"}, {"\u212a", "k", "K"}, {"s", "\u017f"}} {
		for _, text := range same {
			d := named("/", 1, true)
			first, other := map[string]any{"a": same[0]}, map[string]any{"a": text}
			if got, want := d.CanonicalName(other), d.CanonicalName(first); got != want {
				t.Errorf("%s is %s, and %s is %s", same[0], want, text, got)
			}
			if got := d.NameOf(other); got != text {
				t.Errorf("%s is spelled %s", text, got)
			}
		}
	}
}

func TestSpellingsOfANumberAreOneName(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{"1": "1", "1.0": "1", "1e2": "100", "-0": "0", "9007199254740993": "9007199254740993", "1e999": "1e999"} {
		if got := named("/", 1, false).NameOf(map[string]any{"a": json.Number(text)}); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// FuzzNames checks that each list of values has a name of its own.
func FuzzNames(f *testing.F) {
	f.Add("/", "a/b", "c", "d")
	f.Add(`\%^`, `a\`, `%`, "^")
	f.Add("::", "a:", ":b", "")
	f.Add("\u2192", "\u2191", "\u2192", "\\")
	f.Fuzz(func(t *testing.T, separator, a, b, c string) {
		isBroken := func(text string) bool { return !utf8.ValidString(text) }
		if separator == "" || utf8.RuneCountInString(separator) > 3 || slices.ContainsFunc([]string{separator, a, b, c}, isBroken) {
			return // no type and no resource has it
		}
		d := named(separator, 3, false)
		parts := []string{a, b, c}
		if again, ok := d.Split(d.Join(parts)); !ok || !slices.Equal(again, parts) {
			t.Errorf("%q is %q, which is %q", parts, d.Join(parts), again)
		}
	})
}
