package policies_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

func TestOnlyPeopleStopNodesThatGoBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ spec, want string }{
		"gates and a window do not": {"gates: [example.com/tests]\nwindow: {weekday: [Sat]}", ""},
		"a pause does":              {"gates: [example.com/tests]\npaused: true", "Paused"},
		"an invalid policy does":    {"window: {range: ['25:00-26:00']}", "InvalidPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if is := policies.New([]*v1alpha1.RolloutPolicy{newPolicy(t, "web", tt.spec)}).StopReturn("web"); is.Reason != tt.want {
				t.Errorf("got %+v, want %q", is, tt.want)
			}
		})
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const tests = "gates: [example.com/tests]"
	gated := func(spec string, status metav1.ConditionStatus) *v1alpha1.RolloutPolicy {
		return gate(newPolicy(t, "web", spec), "example.com/tests", status)
	}
	for name, tt := range map[string]struct {
		policy *v1alpha1.RolloutPolicy
		others []*v1alpha1.RolloutPolicy
		want   policies.Stop
	}{
		"nothing stops a policy by default": {policy: newPolicy(t, "web", "")},
		"paused": {
			policy: newPolicy(t, "web", "paused: true"),
			want:   policies.Stop{Reason: "Paused", Message: "spec.paused is true: to go on, remove it, or run kubectl fettle rollout resume web"},
		},
		"a gate that is True is open": {policy: gated(tests, metav1.ConditionTrue)},
		"a gate that is False needs a person": {
			policy: gated(tests, metav1.ConditionFalse),
			want:   policies.Stop{Reason: "GateFailed", Message: "the gate example.com/tests is False: Tests: 2 of 3 passed", Stalled: true},
		},
		"a gate that is Unknown waits": {
			policy: gated(tests, metav1.ConditionUnknown),
			want:   policies.Stop{Reason: "WaitingForGate", Message: "the gate example.com/tests is Unknown: Tests: 2 of 3 passed"},
		},
		"a gate that is absent waits": {
			policy: newPolicy(t, "web", tests),
			want:   policies.Stop{Reason: "WaitingForGate", Message: "the gate example.com/tests is absent: nothing has set this condition on the policy yet"},
		},
		"a False gate comes before an absent one": {
			policy: gated("gates: [example.com/absent, example.com/tests]", metav1.ConditionFalse),
			want:   policies.Stop{Reason: "GateFailed", Message: "the gate example.com/tests is False: Tests: 2 of 3 passed", Stalled: true},
		},
		"a pause comes before gates": {
			policy: gated(tests+"\npaused: true", metav1.ConditionFalse),
			want:   policies.Stop{Reason: "Paused", Message: "spec.paused is true: to go on, remove it, or run kubectl fettle rollout resume web"},
		},
		"a gate comes before a window": {
			policy: newPolicy(t, "web", tests+"\nwindow: {weekday: [Sat]}"),
			want:   policies.Stop{Reason: "WaitingForGate", Message: "the gate example.com/tests is absent: nothing has set this condition on the policy yet"},
		},
		"an open window tells when it closes": {
			policy: newPolicy(t, "web", "window: {weekday: [Fri]}"),
			want:   policies.Stop{Until: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)},
		},
		"a window includes the end of its range": {
			policy: newPolicy(t, "web", "window: {range: ['10:00-12:00']}"),
			want:   policies.Stop{Until: time.Date(2026, 11, 27, 12, 0, 0, 1, time.UTC)},
		},
		"a window that is always open never closes": {policy: newPolicy(t, "web", "window: {range: ['00:00-00:00']}")},
		"a closed window tells when it opens": {
			policy: newPolicy(t, "web", "window: {range: ['22:00-04:00'], weekday: [Sat], timeZone: Europe/Berlin}"),
			want: policies.Stop{
				Reason: "WaitingForWindow", Message: "spec.window opens Sat 2026-11-28 22:00 CET", Until: time.Date(2026, 11, 28, 22, 0, 0, 0, berlin),
			},
		},
		"an invalid range": {
			policy: newPolicy(t, "web", "window: {range: ['25:00-26:00']}"),
			want: policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: "spec.window: range \"25:00-26:00\": invalid time of day \"25:00\": write it as 04:00, from 00:00 to 23:59:59; " +
				"invalid time of day \"26:00\": write it as 04:00, from 00:00 to 23:59:59"},
		},
		"an empty window": {
			policy: newPolicy(t, "web", "window: {}"),
			want:   policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: "spec.window: it is empty: set range or weekday, or remove it"},
		},
		"an unknown time zone": {
			policy: newPolicy(t, "web", "window: {weekday: [Sat], timeZone: Europe/Atlantis}"),
			want: policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: `spec.window: timeZone "Europe/Atlantis" is unknown: ` +
				"write a name of the IANA database, such as Europe/Berlin"},
		},
		"the time zone of the manager is none": {
			policy: newPolicy(t, "web", "window: {weekday: [Sat], timeZone: Local}"),
			want: policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: `spec.window: timeZone "Local" is unknown: ` +
				"write a name of the IANA database, such as Europe/Berlin"},
		},
		"an unknown policy in after": {
			policy: newPolicy(t, "web", "after: [staging]"),
			want:   policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: `spec.after names "staging", which does not exist: create this RolloutPolicy, or remove the name`},
		},
		"a policy after itself": {
			policy: newPolicy(t, "web", "after: [web]"),
			want:   policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: "spec.after names the policy itself: remove the name"},
		},
		"policies that wait for each other": {
			policy: newPolicy(t, "web", "after: [qa]"), others: []*v1alpha1.RolloutPolicy{newPolicy(t, "qa", "after: [dev]"), newPolicy(t, "dev", "after: [web]")},
			want: policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: "spec.after: dev, qa, web wait for each other: remove a name from one of them"},
		},
		"a policy behind policies that wait for each other is valid": {
			policy: newPolicy(t, "web", "after: [qa]"), others: []*v1alpha1.RolloutPolicy{newPolicy(t, "qa", "after: [dev]"), newPolicy(t, "dev", "after: [qa]")},
		},
		"an invalid policy comes before a pause": {
			policy: newPolicy(t, "web", "after: [web]\npaused: true"),
			want:   policies.Stop{Reason: "InvalidPolicy", Stalled: true, Message: "spec.after names the policy itself: remove the name"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, setOf(append(tt.others, tt.policy)...).Stop("web", now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnUnknownPolicyStopsNothing(t *testing.T) {
	t.Parallel()
	if stop := setOf().Stop("", now); stop.Stops() {
		t.Errorf("got %+v", stop)
	}
}
