package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

func status() v1alpha1.RolloutPolicyStatus {
	return v1alpha1.RolloutPolicyStatus{
		ObservedGeneration: 7, Stable: "old", Target: "new", Pending: "newer", Started: new(metav1.NewTime(noon)), Admitting: []string{"a", "b"},
		Failures:   []v1alpha1.RolloutFailure{{Node: "f", Reason: "Silent", At: metav1.NewTime(noon)}, {Node: "g", Reason: "Failed"}},
		Nodes:      v1alpha1.RolloutNodes{Total: 9, Affected: 8, Admitted: 5, Proven: 1, Failed: 2, Excluded: 1},
		Samples:    []v1alpha1.RolloutSample{{Node: "f"}},
		History:    []v1alpha1.RolloutRecord{{Revision: "old", Outcome: v1alpha1.RolloutCompleted}, {Revision: "bad", Outcome: v1alpha1.RolloutReplaced}},
		Conditions: []metav1.Condition{{Type: "Ready"}},
	}
}

func TestAStatusIsReadAndWrittenWithoutLoss(t *testing.T) {
	t.Parallel()

	want := status()
	got := v1alpha1.RolloutPolicyStatus{ObservedGeneration: 7, Samples: want.Samples, Conditions: want.Conditions, Started: new(metav1.Now())}
	rollout.StateOf(want).Apply(&got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rollout.State{}.Apply(&got)
	if diff := cmp.Diff(v1alpha1.RolloutPolicyStatus{ObservedGeneration: 7, Samples: want.Samples, Conditions: want.Conditions}, got); diff != "" {
		t.Errorf("an empty state (-want +got):\n%s", diff)
	}
}

func TestAStateSharesNothingWithItsStatus(t *testing.T) {
	t.Parallel()

	s := status()
	state := rollout.StateOf(s)
	state.Admitting[0], state.Failures[0].Node, state.History[0].Revision = "x", "x", "x"
	if diff := cmp.Diff(status(), s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPolicyHasCompletedItsStableRevisionAndThoseOfItsHistory(t *testing.T) {
	t.Parallel()

	state := rollout.StateOf(status())
	state.Stable = "stable"
	for revision, want := range map[string]bool{"stable": true, "old": true, "bad": false, "new": false} {
		if got := state.Completed(revision); got != want {
			t.Errorf("%s: got %t", revision, got)
		}
	}
}

func TestARetriedNodeHasNotFailed(t *testing.T) {
	t.Parallel()

	state := rollout.StateOf(status())
	want := rollout.StateOf(status())
	want.Failures, want.Nodes.Failed = want.Failures[1:], 1
	for range 2 {
		state = state.Retry("f")
		if diff := cmp.Diff(want, state); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestNodesAreNotMovedBeforeTheRolloutStarted(t *testing.T) {
	t.Parallel()

	for now, want := range map[time.Time]time.Time{
		noon.Add(1500 * time.Millisecond): noon.Add(time.Second),
		noon.Add(-time.Hour):              noon,
	} {
		if got := rollingOut().Since(now); !got.Equal(want) {
			t.Errorf("at %s: got %s", now, got)
		}
	}
}

func TestARolloutIsHaltedByMoreFailuresThanAllowed(t *testing.T) {
	t.Parallel()

	state := rollout.StateOf(status())
	rest := state
	rest.Target = ""
	for name, tt := range map[string]struct {
		state     rollout.State
		maxFailed int32
		want      bool
	}{
		"as many as allowed":        {state, 2, false},
		"more than allowed":         {state, 1, true},
		"failures of a past target": {rest, 1, false},
	} {
		if got := tt.state.Halted(policy(1, 1, tt.maxFailed)); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
