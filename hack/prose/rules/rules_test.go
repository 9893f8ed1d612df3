package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/hack/prose/rules"
)

func parse(t *testing.T, text string) []rules.Rule {
	t.Helper()
	table, err := rules.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestARuleMatchesAcrossLinesAndCase(t *testing.T) {
	t.Parallel()

	got := rules.Check(parse(t, "# A comment.\n\n\\bbe it\\b => write \"whether\"\n"), "All of it, Be\nit good or bad. Maybe it is.")
	want := []rules.Finding{{Offset: 11, Match: "Be it", Advice: `write "whether"`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFindingBeginsAtItsFirstWord(t *testing.T) {
	t.Parallel()

	got := rules.Check(parse(t, `(^|[.:] )what \w+ => name the subject`), "It works.\nWhat fails stays.")
	want := []rules.Finding{{Offset: 8, Match: ". What fails", Advice: "name the subject"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAMalformedRuleIsAnError(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"be it":          `rule "be it" has no advice: write PATTERN => ADVICE`,
		"(be => whether": "rule \"(be => whether\": error parsing regexp: missing closing ): `(?is)(be`",
	} {
		if _, err := rules.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestTheRulesOfThisRepositoryAreValid(t *testing.T) {
	t.Parallel()

	if table, err := rules.Default(); err != nil || len(table) == 0 {
		t.Errorf("got %d rules and error %v", len(table), err)
	}
}
