package text_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/test/fixtures/hostile"
)

func TestLineEscapesUnprintableCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"":                   "",
		"File/motd: created": "File/motd: created",
		"Zoë Ωμέγα 日本語 \u00a0 👩 é": "Zoë Ωμέγα 日本語 \u00a0 👩 é",
		`C:\temp \x1b \d+`:         `C:\temp \x1b \d+`,
		"a\nb\r\tc":                `a\nb\r\tc`,
		"\x1b[31mred\x07\x7f":      `\x1b[31mred\x07\x7f`,
		"\u009b2J":                 `\u009b2J`,
		"a\u202eb\u2066c\u200bd":   `a\u202eb\u2066c\u200bd`,
		"\u2028\u2029\ufeff":       `\u2028\u2029\ufeff`,
		"\U000e0041":               `\U000e0041`,
		"a\xff\xc3b\xed\xa0\x80":   `a\xff\xc3b\xed\xa0\x80`,
		"\ufffd":                   "\ufffd",
	} {
		if got := text.Line(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := text.Block("-a\r\n+\tb\x1b[2K\n"); got != "-a\\r\n+\tb\\x1b[2K\n" {
		t.Errorf("%q", got)
	}
}

// printable fails unless every character of a text is printable or allowed.
func printable(t *testing.T, s, allowed string) {
	t.Helper()
	for _, r := range s {
		if !unicode.IsGraphic(r) && !strings.ContainsRune(allowed, r) || !utf8.ValidString(s) {
			t.Fatalf("%q has %U", s, r)
		}
	}
}

func TestHostileTextBecomesPrintable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	for range 20_000 {
		s := hostile.String(random)
		line, block, encoded := text.Line(s), text.Block(s), text.Encode(s)
		printable(t, line, "")
		printable(t, block, "\n\t")
		if text.Line(line) != line || text.Block(block) != block {
			t.Fatalf("%q is escaped twice", s)
		}
		if !utf8.ValidString(encoded) || text.Decode(encoded) != s {
			t.Fatalf("%q is encoded as %q and decoded as %q", s, encoded, text.Decode(encoded))
		}
		if other, twice := seen[encoded]; twice && other != s {
			t.Fatalf("%q and %q are both encoded as %q", other, s, encoded)
		}
		seen[encoded] = s
	}
}

func TestEscapeJSONPreservesValues(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		in := map[string]string{text.Encode(hostile.String(random)): text.Encode(hostile.String(random))}
		raw, err := json.MarshalIndent(in, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		escaped := text.EscapeJSON(raw)
		printable(t, string(escaped), "\n")
		var out map[string]string
		if err := json.Unmarshal(escaped, &out); err != nil {
			t.Fatalf("%s: %v", escaped, err)
		}
		for k, v := range in {
			if out[k] != v || len(out) != 1 {
				t.Fatalf("%q became %q", in, out)
			}
		}
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("a\xffb", `a\xffb`)
	f.Add(`\x5cxff`, `\x\xff`)
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := text.Encode(a), text.Encode(b)
		if !utf8.ValidString(x) || text.Decode(x) != a || (x == y) != (a == b) {
			t.Errorf("%q and %q are encoded as %q and %q", a, b, x, y)
		}
		if utf8.ValidString(a) && !strings.Contains(a, `\x`) && x != a {
			t.Errorf("%q was changed to %q", a, x)
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 faults", 1: "1 fault", 2: "2 faults"} {
		if got := text.Count(n, "fault"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
