package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// wanted is a revision that may be rolled out and is the newest one.
func wanted(revision string, adjust ...func(*rollout.Wanted)) rollout.Wanted {
	w := rollout.Wanted{Revision: revision, Newest: revision, Base: revision, Settled: true, Policy: policy(1, 1, 0)}
	for _, a := range adjust {
		a(&w)
	}
	return w
}

func unsettled(w *rollout.Wanted) { w.Settled = false }
func stopped(w *rollout.Wanted)   { w.Stopped = true }
func touches(w *rollout.Wanted)   { w.Touches = true }
func pinned(w *rollout.Wanted)    { w.Pinned = true }

func TestAim(t *testing.T) {
	t.Parallel()

	// underway is a rollout that a node has proven and another one has yet to.
	underway := rollout.State{
		Stable: "old", Target: "new", Started: noon, Admitting: []string{"a"}, Nodes: v1alpha1.RolloutNodes{Total: 9, Affected: 8, Admitted: 2, Proven: 1},
	}
	with := func(nodes v1alpha1.RolloutNodes, admitting ...string) rollout.State {
		return rollout.State{Stable: "old", Target: "new", Started: noon, Admitting: admitting, Nodes: nodes}
	}
	pending := func(s rollout.State, revision string) rollout.State {
		s.Pending = revision
		return s
	}
	later := noon.Add(time.Hour)
	replaced := func(s rollout.State, revision string, outcome v1alpha1.RolloutOutcome) rollout.State {
		return rollout.State{
			Stable: "old", Target: revision, Started: later, Nodes: v1alpha1.RolloutNodes{Total: s.Nodes.Total},
			History: []v1alpha1.RolloutRecord{{Revision: "new", Outcome: outcome, Started: metav1.NewTime(noon), Ended: metav1.NewTime(later), Nodes: s.Nodes}},
		}
	}
	halted := with(v1alpha1.RolloutNodes{Total: 9, Affected: 8, Admitted: 3, Proven: 1, Failed: 1})
	halted.Failures = []v1alpha1.RolloutFailure{{Node: "f"}}
	idle := with(v1alpha1.RolloutNodes{Total: 9, Affected: 8})
	unproven := with(v1alpha1.RolloutNodes{Total: 9, Affected: 8, Excluded: 8})
	rest := rollout.State{Stable: "old", Nodes: v1alpha1.RolloutNodes{Total: 9, Affected: 8, Admitted: 8, Proven: 7, Failed: 1}, Failures: []v1alpha1.RolloutFailure{{Node: "f"}}}
	for name, tt := range map[string]struct {
		state rollout.State
		want  rollout.Wanted
		is    rollout.State
	}{
		"the first revision is stable without a rollout": {rollout.State{}, wanted("new"), rollout.State{Stable: "new"}},
		"the base is, if the policy waits for another one": {
			rollout.State{}, rollout.Wanted{Newest: "new", Base: "old", Settled: true}, rollout.State{Stable: "old", Pending: "new"},
		},
		"without any revision there is no goal":             {rollout.State{}, rollout.Wanted{Settled: true}, rollout.State{}},
		"the stable revision stays":                         {rest, wanted("old"), rest},
		"the rollout of another revision begins":            {rest, wanted("new"), rollout.State{Stable: "old", Target: "new", Started: later, Nodes: v1alpha1.RolloutNodes{Total: 9}}},
		"it is pending while people edit":                   {rest, wanted("new", unsettled), pending(rest, "new")},
		"it begins while the policy is stopped, and waits":  {rest, wanted("new", stopped), rollout.State{Stable: "old", Target: "new", Started: later, Nodes: v1alpha1.RolloutNodes{Total: 9}}},
		"a revision that may not be rolled out yet waits":   {rest, rollout.Wanted{Newest: "new", Settled: true}, pending(rest, "new")},
		"the target stays":                                  {underway, wanted("new"), underway},
		"a newer revision waits for it":                     {underway, wanted("newer"), pending(underway, "newer")},
		"a newer revision that fixes it replaces it":        {underway, wanted("newer", touches), replaced(underway, "newer", v1alpha1.RolloutReplaced)},
		"it waits while people edit":                        {underway, wanted("newer", touches, unsettled), pending(underway, "newer")},
		"a newer revision replaces one that is stopped":     {underway, wanted("newer", stopped), replaced(underway, "newer", v1alpha1.RolloutReplaced)},
		"a newer revision replaces one that is halted":      {halted, wanted("newer"), replaced(halted, "newer", v1alpha1.RolloutReplaced)},
		"a newer revision replaces one that no node has":    {idle, wanted("newer"), replaced(idle, "newer", v1alpha1.RolloutReplaced)},
		"a newer revision replaces one that nobody can try": {unproven, wanted("newer"), replaced(unproven, "newer", v1alpha1.RolloutUnproven)},
		"it waits for one that a node is about to get":      {with(idle.Nodes, "a"), wanted("newer"), pending(with(idle.Nodes, "a"), "newer")},
		"a pinned revision replaces the target at once":     {underway, wanted("newer", pinned), replaced(underway, "newer", v1alpha1.RolloutReplaced)},
		"a revert replaces the target at once":              {underway, wanted("old"), replaced(underway, "old", v1alpha1.RolloutReplaced)},
		"a target that may not be rolled out any more stays": {
			underway, rollout.Wanted{Newest: "newer", Settled: true}, pending(underway, "newer"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rollout.Aim(tt.state, tt.want, later.Add(300*time.Millisecond))
			if diff := cmp.Diff(tt.is, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, rollout.Aim(got, tt.want, later)); diff != "" {
				t.Errorf("the second time (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheHistoryKeepsWhatWasCompletedForLongest(t *testing.T) {
	t.Parallel()

	state := rollout.State{Stable: "old"}
	for _, revision := range []string{"a", "b", "c"} {
		state.History = append(state.History, v1alpha1.RolloutRecord{Revision: revision, Outcome: v1alpha1.RolloutCompleted})
	}
	for i := range 15 {
		state = rollout.Aim(state, wanted(string(rune('p'+i%10))), noon.Add(time.Duration(i)*time.Second))
	}
	if len(state.History) != 10 || !state.Completed("a") || !state.Completed("b") || !state.Completed("c") {
		t.Errorf("the history is %+v", state.History)
	}
}

func TestTheHistoryHasTheLastTenRollouts(t *testing.T) {
	t.Parallel()

	state, now := rollout.State{Stable: "old"}, noon
	for i := range 15 {
		now = now.Add(time.Second)
		state = rollout.Aim(state, wanted(string(rune('a'+i))), now)
	}
	revisions := ""
	for _, r := range state.History {
		revisions += r.Revision
	}
	if revisions != "nmlkjihgfe" || state.Target != "o" {
		t.Errorf("%s is rolled out after %s", state.Target, revisions)
	}
}
