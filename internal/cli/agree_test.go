package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/test/fixtures/oddvalues"
)

// agreement returns the seed and the number of resources, or the time, to compare. FETTLE_AGREE_SEED and
// FETTLE_AGREE_TIME override the defaults.
func agreement(t *testing.T) (seed uint64, enough func(resources int) bool) {
	t.Helper()
	seed = 1
	if text := os.Getenv("FETTLE_AGREE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	duration := os.Getenv("FETTLE_AGREE_TIME")
	if duration == "" {
		return seed, func(resources int) bool { return resources >= 2000 }
	}
	limit, err := time.ParseDuration(duration)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(limit)
	return seed, func(int) bool { return time.Now().After(end) }
}

// plan and apply accept the same resources as validate. They reject the others with the same messages, before
// any provider is called.
func TestValidatePlanAndApplyAgree(t *testing.T) {
	seed, enough := agreement(t)
	g, err := oddvalues.New(seed, "../../config/samples", "../../config/samples/attributes")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	const batch = 20
	n := 0
	for ; !enough(n) && !t.Failed(); n += batch {
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
	t.Logf("seed %d: %d resources, %d rejected", seed, n, refused)
	if refused < n/4 || refused > n*9/10 {
		t.Errorf("the generator produces too few valid or invalid resources: %d of %d rejected", refused, n)
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
		if len(verdicts[name]) == 0 && there && strings.Contains(r.Message, "stdin:") {
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
