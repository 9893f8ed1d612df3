package expression_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/expression"
)

// found is what the functions that find all matches make of a text.
type found struct {
	All, Two, Split, SplitTwo []string
	Replaced, Literal         string
}

func foundByTemplate(t *testing.T, pattern, text, by string) (found, error) {
	t.Helper()
	parsed, err := expression.ParseTemplate(`{{ dict
		"All" (regexFindAll .pattern .text -1) "Two" (regexFindAll .pattern .text 2)
		"Split" (regexSplit .pattern .text -1) "SplitTwo" (regexSplit .pattern .text 2)
		"Replaced" (regexReplaceAll .pattern .text .by) "Literal" (regexReplaceAllLiteral .pattern .text .by) | toRawJson }}`)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := parsed.Render(map[string]any{"pattern": pattern, "text": text, "by": by}, expression.MaxTime)
	if err != nil {
		return found{}, err
	}
	var f found
	if err := json.Unmarshal([]byte(out), &f); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return f, nil
}

func foundByRegexp(re *regexp.Regexp, text, by string) found {
	return found{
		All: re.FindAllString(text, -1), Two: re.FindAllString(text, 2), Split: re.Split(text, -1), SplitTwo: re.Split(text, 2),
		Replaced: re.ReplaceAllString(text, by), Literal: re.ReplaceAllLiteralString(text, by),
	}
}

func FuzzSearch(f *testing.F) {
	for _, pattern := range []string{
		"", "a", "a*", "a*?", "^a", "(?m)^a", "a$", "(?m)a$", `\ba`, `a\b`, `\Ba`, "a|ab", "(a)(b)?", "(?P<n>a)|b", "x*y|x", ".", "(?s).", `\A`, `\z`,
		"(?i)k", "[^a]", "(?U)a+", `\Qa+`, "é|", "a{2}", "(|a)+", "(a|b)*b", "$", "^", "(?:)", `\C`, "[[:alpha:]]+", "a**",
	} {
		for _, text := range []string{"", "a", "aab ab\nba", "é k \u212a é", "xxxxyxx", "a\xffb\u2028", "ab, ab"} {
			f.Add(pattern, text, "<$0$1${n}$$>")
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text, by string) {
		text, by = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(by, "?") // JSON has no others
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		got, err := foundByTemplate(t, pattern, text, by)
		if err != nil {
			return // beyond a limit
		}
		if want := foundByRegexp(re, text, by); !reflect.DeepEqual(got, want) {
			t.Errorf("%q in %q by %q:\n got %+q\nwant %+q", pattern, text, by, got, want)
		}
	})
}
