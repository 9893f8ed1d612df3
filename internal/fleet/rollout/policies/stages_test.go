package policies_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

// nodesOf returns so many nodes by tier, named tier-0, tier-1 ....
func nodesOf(tiers map[string]int) map[string]map[string]string {
	all := map[string]map[string]string{}
	for tier, n := range tiers {
		for i := range n {
			all[fmt.Sprintf("%s-%d", tier, i)] = map[string]string{"tier": tier}
		}
	}
	return all
}

func TestTimeOfAStage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec    string
		nodes   int
		waves   int
		atLeast time.Duration
	}{
		"no affected node takes no time":              {"", 0, 0, 0},
		"few nodes, one by one":                       {"", 3, 3, 6 * time.Minute},
		"many nodes, four times as many at each step": {"", 5000, 10, 20 * time.Minute}, // 1, 4, 16, 64, 256, 1024, and 1250 at a time
		"no more than maxInFlight":                    {"maxInFlight: 2", 10, 6, 12 * time.Minute},
		"first is more than 25%":                      {"first: 8", 10, 2, 4 * time.Minute},
		"a percentage is rounded up":                  {"first: 10%", 11, 4, 8 * time.Minute}, // 2, 3, 3, 3
		"all at once":                                 {"first: 100%", 5000, 1, 2 * time.Minute},
		"each step takes the time of soak":            {"soak: 1h", 2, 2, 2 * time.Hour},
		"maxInFlight limits first, too":               {"first: 100%\nmaxInFlight: 5", 10, 2, 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stages := setOf(newPolicy(t, "web", tt.spec)).Stages(nodesOf(map[string]int{"web": tt.nodes}), func(string) bool { return true }, now)
			want := []policies.Stage{{Policy: "web", Nodes: tt.nodes, Affected: tt.nodes, Waves: tt.waves, AtLeast: metav1.Duration{Duration: tt.atLeast}}}
			if diff := cmp.Diff(want, stages); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStagesAreInOrder(t *testing.T) {
	t.Parallel()
	set := setOf(
		newPolicy(t, "prod", "after: [staging]\nwindow: {weekday: [Sat, Sun], range: ['22:00-04:00'], timeZone: Europe/Berlin}"),
		gate(newPolicy(t, "staging", "paused: true\ngates: [example.com/tests, example.com/load, example.com/people]"), "example.com/load", metav1.ConditionTrue),
		newPolicy(t, "all", "nodeSelector: {matchLabels: null, matchExpressions: [{key: tier, operator: In, values: [both]}]}"),
		newPolicy(t, "both", "revision: "+r2+"\nwindow: {weekday: [Fri]}"),
		newPolicy(t, "lost", "after: [none]\nwindow: {weekday: [Sat], timeZone: Nowhere}"),
	)
	nodes := nodesOf(map[string]int{"prod": 2, "staging": 1, "both": 3, "other": 2})
	want := []policies.Stage{
		{Nodes: 2, Affected: 1, Waves: 1},
		{Policy: "all"},
		{Policy: "both", Waits: "pinned to 2222222222; window Fri UTC"},
		{Policy: "staging", Nodes: 1, Affected: 1, Waves: 1, AtLeast: metav1.Duration{Duration: 2 * time.Minute}, Waits: "paused; gates: example.com/tests (absent), example.com/load, example.com/people (absent)"},
		{
			Policy: "prod", After: []string{"staging"}, Nodes: 2, Affected: 2, Waves: 2, AtLeast: metav1.Duration{Duration: 4 * time.Minute},
			Waits: "window Sat, Sun 22:00-04:00 Europe/Berlin: opens Sat 2026-11-28 22:00 CET",
		},
		{Policy: "lost", After: []string{"none"}, Waits: "invalid: spec.window: timeZone \"Nowhere\" is unknown: write a name of the IANA database, such as Europe/Berlin; window Sat Nowhere"},
		{Nodes: 3, Affected: 3, Waits: "several policies select these nodes: they are not changed"},
	}
	if diff := cmp.Diff(want, set.Stages(nodes, func(node string) bool { return node != "other-0" }, now)); diff != "" {
		t.Error(diff)
	}
}
