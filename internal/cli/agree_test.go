package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/test/fixtures/budget"
	"github.com/fettle-dev/fettle/test/fixtures/oddvalues"
)

// plan and apply accept the same resources as validate. They reject the others with the same messages, before
// any provider is called.
func TestValidatePlanAndApplyAgree(t *testing.T) {
	resources := budget.Events(t, 200, 10_000)
	g, err := oddvalues.New(budget.Seed(t), "../../config/samples", "../../config/samples/attributes")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	const batch = 20
	for n := 0; n < resources && !t.Failed(); n += batch {
		var in strings.Builder
		var names []string
		for i := range batch {
			name := fmt.Sprintf("r%d", n+i)
			doc := g.Next(name)
			fmt.Fprintf(&in, "---\n%s\n", doc)
			names = append(names, name)
		}
		verdicts := validated(t, in.String())
		for _, command := range []string{"plan", "apply"} {
			compare(t, command, in.String(), names, verdicts)
		}
		for _, name := range names {
			refused += min(1, len(verdicts[name]))
		}
	}
	t.Logf("%d of %d resources rejected", refused, resources)
	if refused < resources/4 || refused > resources*9/10 {
		t.Errorf("the generator produces too few valid or invalid resources: %d of %d rejected", refused, resources)
	}
}

// validated returns the faults that validate reports, by resource name.
func validated(t *testing.T, in string) map[string][]string {
	t.Helper()
	verdicts := map[string][]string{}
	for _, line := range lines(fettle(t, in, "validate", "-f", "-").err) {
		where, rest, _ := strings.Cut(line, ": ")
		ref, message, ok := strings.Cut(rest, ": ")
		_, name, hasName := strings.Cut(ref, "/")
		if !ok || !hasName || !strings.HasPrefix(where, "stdin:") {
			continue // a further line of a message
		}
		verdicts[name] = append(verdicts[name], message)
	}
	return verdicts
}

func compare(t *testing.T, command, in string, names []string, verdicts map[string][]string) {
	t.Helper()
	got := fettle(t, in, command, "-f", "-", "-o", "json", "--root", emptyRoot(t))
	var ran report.Report
	if err := json.Unmarshal([]byte(got.out), &ran); err != nil {
		t.Fatalf("%s: %v\n%s%s\n%s", command, err, got.out, got.err, in)
	}
	reports := map[string]report.ResourceReport{}
	for _, r := range ran.Resources {
		reports[r.Ref.Name] = r
	}
	for _, name := range names {
		r, there := reports[name]
		waits := strings.HasPrefix(r.Message, "skipped: ") // for another that is rejected
		if len(verdicts[name]) == 0 && there && !waits && strings.Contains(r.Message, "stdin:") {
			t.Errorf("%s rejects %s, which validate accepts: %s", command, r.Ref, r.Message)
		}
		for _, message := range verdicts[name] {
			first, _, _ := strings.Cut(message, "\n")
			first = strings.ToValidUTF8(first[:min(len(first), 300)], "") // the compiler caps its messages
			if r.State != report.Failed && r.State != report.Skipped || r.Provider != "" || !strings.Contains(text.Line(r.Message), first) {
				t.Errorf("%s does not reject %s for %s, as validate does: %s %s", command, name, message, r.State, r.Message)
			}
		}
	}
}
