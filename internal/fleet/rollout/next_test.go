package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// outcome is a decision in numbers.
type outcome struct {
	Admit                                        int
	Halted, Completed, Unproven                  bool
	Affected, Admitted, Proven, Failed, Excluded int32
}

func summary(d rollout.Decision) outcome {
	n := d.State.Nodes
	return outcome{len(d.Admit), d.Halted, d.Completed, d.Unproven, n.Affected, n.Admitted, n.Proven, n.Failed, n.Excluded}
}

func TestNodesAreAdmittedAsOthersProveTheTarget(t *testing.T) {
	t.Parallel()

	soaking, proven := is(rollout.Soaking), is(rollout.Proven)
	for name, tt := range map[string]struct {
		policy  rollout.Policy
		state   rollout.State
		nodes   []rollout.Node
		stopped bool
		unknown bool
		busy    bool // a node of the control plane is, in another policy
		want    outcome
	}{
		"the first nodes get the target": {
			policy: policy(2, 9, 0), state: rollingOut(), nodes: nodes("n", 20),
			want: outcome{Admit: 2, Affected: 20, Admitted: 2},
		},
		"no other node gets it before one has proven it": {
			policy: policy(2, 9, 0), state: rollingOut(), nodes: join(nodes("a", 2, soaking), nodes("n", 18)),
			want: outcome{Affected: 20, Admitted: 2},
		},
		"four times as many nodes get it as have proven it": {
			policy: policy(1, 9, 0), state: rollingOut(), nodes: join(nodes("a", 2, proven), nodes("n", 18)),
			want: outcome{Admit: 6, Affected: 20, Admitted: 8, Proven: 2},
		},
		"nodes in flight are bounded": {
			policy: policy(1, 5, 0), state: rollingOut(), nodes: join(nodes("a", 9, proven), nodes("b", 2, soaking), nodes("n", 40)),
			want: outcome{Admit: 3, Affected: 51, Admitted: 14, Proven: 9},
		},
		"a node that another manager is about to move counts": {
			policy: policy(1, 9, 0), state: rollingOut("n03"), nodes: nodes("n", 20),
			want: outcome{Admit: 1, Affected: 20, Admitted: 1},
		},
		"a node that was admitted and has left does not count": {
			policy: policy(1, 9, 0), state: rollingOut("gone"), nodes: nodes("n", 20),
			want: outcome{Admit: 1, Affected: 20, Admitted: 1},
		},
		"at most 512 nodes are admitted at once": {
			policy: policy(600, 600, 0), state: rollingOut(), nodes: nodes("n", 600),
			want: outcome{Admit: 512, Affected: 600, Admitted: 512},
		},
		"nodes that the target does not affect do not count": {
			policy: policy(1, 9, 0), state: rollingOut(), nodes: join(nodes("a", 50, unaffected, proven), nodes("n", 3)),
			want: outcome{Admit: 1, Affected: 3, Admitted: 1},
		},
		"a failed node leaves its place to another one": {
			policy: policy(1, 9, 1), state: rollingOut(), nodes: join(nodes("f", 1, fails), nodes("n", 19)),
			want: outcome{Admit: 1, Affected: 20, Admitted: 2, Failed: 1},
		},
		"too many failed nodes halt the rollout": {
			policy: policy(9, 9, 1), state: rollingOut(), nodes: join(nodes("f", 2, fails), nodes("n", 18)),
			want: outcome{Halted: true, Affected: 20, Admitted: 2, Failed: 2},
		},
		"a halted rollout still moves nodes that were admitted before": {
			policy: policy(9, 9, 1), state: rollingOut("n03"), nodes: join(nodes("f", 2, fails), nodes("n", 18)),
			want: outcome{Admit: 1, Halted: true, Affected: 20, Admitted: 3, Failed: 2},
		},
		"a stopped rollout does, too": {
			policy: policy(9, 9, 0), state: rollingOut("n03"), nodes: nodes("n", 20), stopped: true,
			want: outcome{Admit: 1, Affected: 20, Admitted: 1},
		},
		"a failed node that is gone counts": {
			policy: policy(9, 9, 0), state: failedOn("gone"), nodes: nodes("n", 20),
			want: outcome{Halted: true, Affected: 20, Admitted: 1, Failed: 1},
		},
		"a failed node that is well again has not proven the target": {
			policy: policy(1, 9, 1), state: failedOn("a00"), nodes: join(nodes("a", 1, proven), nodes("n", 19)),
			want: outcome{Admit: 1, Affected: 20, Admitted: 2, Failed: 1},
		},
		"a revision that the policy has completed needs no growth": {
			policy: policy(1, 9, 0), state: endedBefore(v1alpha1.RolloutCompleted), nodes: nodes("n", 20),
			want: outcome{Admit: 9, Affected: 20, Admitted: 9},
		},
		"a revision whose rollout was replaced needs growth": {
			policy: policy(1, 9, 0), state: endedBefore(v1alpha1.RolloutReplaced), nodes: nodes("n", 20),
			want: outcome{Admit: 1, Affected: 20, Admitted: 1},
		},
		"silent, disabled, leaving and joining nodes are left out": {
			policy: policy(9, 9, 0), state: rollingOut(),
			nodes: join(nodes("s", 1, silent), nodes("d", 1, disabled), nodes("l", 1, leaving), nodes("j", 1, joining), nodes("n", 2)),
			want:  outcome{Admit: 2, Affected: 6, Admitted: 2, Excluded: 4},
		},
		"nodes that are not well wait for those that are": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("f", 2, failing), nodes("r", 1, notReady), nodes("n", 2)),
			want: outcome{Admit: 2, Affected: 5, Admitted: 2, Excluded: 3},
		},
		"nodes that are not well try the target if there are no others": {
			policy: policy(2, 9, 0), state: rollingOut(), nodes: join(nodes("f", 2, failing), nodes("r", 1, notReady)),
			want: outcome{Admit: 2, Affected: 3, Admitted: 2, Excluded: 1},
		},
		"they do not while another node tries it": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("b", 1, soaking), nodes("f", 2, failing)),
			want: outcome{Affected: 3, Admitted: 1, Excluded: 2},
		},
		"they do not if another node has proven it": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("a", 1, proven), nodes("b", 1, soaking), nodes("f", 2, failing)),
			want: outcome{Affected: 4, Admitted: 2, Proven: 1, Excluded: 2},
		},
		"nodes with an abandoned target get the new one although they are not well": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("f", 2, failing, abandoned), nodes("n", 2)),
			want: outcome{Admit: 4, Affected: 4, Admitted: 4},
		},
		"silent nodes with an abandoned target wait while others can try the new one": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("s", 2, silent, abandoned), nodes("n", 2, is(rollout.Soaking))),
			want: outcome{Affected: 4, Admitted: 2, Excluded: 2},
		},
		"they get it if no other node can": {
			policy: policy(1, 1, 0), state: rollingOut(), nodes: join(nodes("s", 2, silent, abandoned), nodes("d", 2, disabled)),
			want: outcome{Admit: 2, Affected: 4, Excluded: 4},
		},
		"they get it at once if it was completed before": {
			policy: policy(1, 1, 0), state: endedBefore(v1alpha1.RolloutCompleted), nodes: join(nodes("s", 2, silent, abandoned), nodes("n", 2)),
			want: outcome{Admit: 3, Affected: 4, Admitted: 1, Excluded: 2},
		},
		"nodes of the control plane get it one at a time": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("c", 3, controlPlane), nodes("n", 2)),
			want: outcome{Admit: 3, Affected: 5, Admitted: 3},
		},
		"none does while another one is in flight": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("a", 1, controlPlane, soaking), nodes("c", 2, controlPlane)),
			want: outcome{Affected: 3, Admitted: 1},
		},
		"none does while another one is failing": {
			policy: policy(9, 9, 1), state: rollingOut(), nodes: join(nodes("a", 1, controlPlane, fails), nodes("c", 2, controlPlane)),
			want: outcome{Affected: 3, Admitted: 1, Failed: 1},
		},
		"a rollout is completed once all nodes have proven the target": {
			policy: policy(1, 9, 0), state: rollingOut(), nodes: nodes("a", 3, proven),
			want: outcome{Completed: true, Affected: 3, Admitted: 3, Proven: 3},
		},
		"a stopped rollout is completed, too": {
			policy: policy(1, 9, 0), state: rollingOut(), nodes: nodes("a", 3, proven), stopped: true,
			want: outcome{Completed: true, Affected: 3, Admitted: 3, Proven: 3},
		},
		"nodes that cannot take part do not keep it from being completed": {
			policy: policy(1, 9, 1), state: rollingOut(), nodes: join(nodes("a", 3, proven), nodes("s", 2, silent), nodes("f", 1, fails), nodes("i", 1, failing)),
			want: outcome{Completed: true, Affected: 7, Admitted: 4, Proven: 3, Failed: 1, Excluded: 3},
		},
		"a rollout that affects no node is completed at once": {
			policy: policy(1, 9, 0), state: rollingOut(), nodes: nodes("a", 3, unaffected),
			want: outcome{Completed: true},
		},
		"a rollout on nodes that cannot take part is unproven": {
			policy: policy(1, 9, 0), state: rollingOut(), nodes: join(nodes("s", 2, silent), nodes("d", 2, disabled)),
			want: outcome{Unproven: true, Affected: 4, Excluded: 4},
		},
		"a rollout in noop reaches all nodes and is unproven": {
			policy: policy(1, 9, 0), state: rollingOut(), nodes: nodes("a", 4, is(rollout.Untried)),
			want: outcome{Unproven: true, Affected: 4, Excluded: 4},
		},
		"a rollout whose only node failed is halted, although one may fail": {
			policy: policy(1, 9, 1), state: rollingOut(), nodes: nodes("f", 1, fails),
			want: outcome{Halted: true, Affected: 1, Admitted: 1, Failed: 1},
		},
		"a rollout that affects no node is not completed while a policy does not know its nodes": {
			policy: policy(1, 9, 0), state: rollingOut(), unknown: true,
			want: outcome{Unproven: true},
		},
		"a rollout whose nodes have gone before one proved it is not completed": {
			policy: policy(1, 9, 0), state: func() rollout.State {
				s := rollingOut()
				s.Nodes = v1alpha1.RolloutNodes{Total: 5, Affected: 5, Admitted: 1}
				return s
			}(), nodes: nodes("a", 3, unaffected),
			want: outcome{Unproven: true, Affected: 5},
		},
		"a rollout whose nodes have gone after one proved it is completed": {
			policy: policy(1, 9, 0), state: func() rollout.State {
				s := rollingOut()
				s.Nodes = v1alpha1.RolloutNodes{Total: 5, Affected: 5, Admitted: 4, Proven: 1}
				return s
			}(),
			want: outcome{Completed: true},
		},
		"a node that failed because the target is refused is not awaited": {
			policy: policy(1, 9, 1), state: failedOn("n00", "n00"), nodes: join(nodes("a", 3, proven), nodes("n", 1)),
			want: outcome{Completed: true, Affected: 4, Admitted: 4, Proven: 3, Failed: 1},
		},
		"no node of the control plane gets it while one of another policy is in flight": {
			policy: policy(9, 9, 0), state: rollingOut(), nodes: join(nodes("c", 3, controlPlane), nodes("n", 2)), busy: true,
			want: outcome{Admit: 2, Affected: 5, Admitted: 2},
		},
		"none does while one that has failed is about to prove that it is well": {
			policy: policy(9, 9, 1), state: failedOn("a00"), nodes: join(nodes("a", 1, controlPlane, soaking), nodes("c", 2, controlPlane)),
			want: outcome{Affected: 3, Admitted: 1, Failed: 1},
		},
		"a node that is replaced by one of its name is not awaited any more": {
			policy: policy(1, 1, 0), state: rollingOut("n00"), nodes: join(nodes("n", 1, joining), nodes("o", 1)),
			want: outcome{Admit: 1, Affected: 2, Admitted: 1, Excluded: 1},
		},
		"a rollout whose only node failed is halted, also if the node is gone": {
			policy: policy(1, 9, 1), state: failedOn("gone"),
			want: outcome{Halted: true, Admitted: 1, Failed: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := rollout.Input{Policy: tt.policy, State: tt.state, Nodes: tt.nodes, Stopped: tt.stopped, Unknown: tt.unknown, ControlPlaneBusy: tt.busy, Now: noon.Add(time.Hour)}
			if diff := cmp.Diff(tt.want, summary(rollout.Next(in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANodeFailsForWhichTheGoalIsRefused(t *testing.T) {
	t.Parallel()

	in := rollout.Input{Policy: policy(1, 9, 400), State: rollingOut(), Nodes: nodes("n", 3, func(n *rollout.Node) { n.AtGoal, n.Phase = false, rollout.Waiting }), Now: noon}
	in.State = rollout.Next(in).State
	refused := in.State.Admitting[0]
	for i := range in.Nodes {
		if in.Nodes[i].Name == refused {
			in.Nodes[i].Phase, in.Nodes[i].Reason, in.Nodes[i].Message = rollout.Failed, "Failed", "too large"
		}
	}
	got := rollout.Next(in)
	if len(got.State.Failures) != 1 || got.State.Failures[0].Node != refused || got.State.Nodes.Failed != 1 {
		t.Errorf("got %d failures: %+v", got.State.Nodes.Failed, got.State.Failures)
	}
}

func TestFailuresAreRecordedOnce(t *testing.T) {
	t.Parallel()

	in := rollout.Input{Policy: policy(1, 9, 400), State: rollingOut(), Nodes: join(nodes("f", 1, fails), nodes("n", 1)), Now: noon}
	failure := v1alpha1.RolloutFailure{Node: "f00", Reason: "Failed", Message: "File/a: no space", At: metav1.NewTime(noon)}
	for range 2 {
		got := rollout.Next(in)
		if diff := cmp.Diff([]v1alpha1.RolloutFailure{failure}, got.State.Failures); diff != "" || got.State.Nodes.Failed != 1 {
			t.Errorf("%d failures (-want +got):\n%s", got.State.Nodes.Failed, diff)
		}
		in.State, in.Now = got.State, noon.Add(time.Hour)
	}

	in.State, in.Nodes = rollingOut(), nodes("f", 300, fails)
	for range 2 {
		got := rollout.Next(in)
		if n := len(got.State.Failures); n != 256 || got.State.Nodes.Failed != 300 {
			t.Errorf("%d of %d failures are named, want 256 of 300", n, got.State.Nodes.Failed)
		}
		in.State = got.State
	}
}

func TestACompletedTargetIsStableAndInTheHistory(t *testing.T) {
	t.Parallel()

	state := rollingOut()
	state.Pending = "newer"
	state.History = []v1alpha1.RolloutRecord{{Revision: "old", Outcome: v1alpha1.RolloutCompleted}}
	for range 9 {
		state.History = append(state.History, v1alpha1.RolloutRecord{Revision: "older", Outcome: v1alpha1.RolloutReplaced})
	}
	got := rollout.Next(rollout.Input{Policy: policy(1, 1, 0), State: state, Nodes: nodes("a", 1, is(rollout.Proven)), Now: noon.Add(time.Hour)})
	counts := v1alpha1.RolloutNodes{Total: 1, Affected: 1, Admitted: 1, Proven: 1}
	want := rollout.State{Stable: "new", Pending: "newer", Nodes: counts, History: append([]v1alpha1.RolloutRecord{{
		Revision: "new", Outcome: v1alpha1.RolloutCompleted, Started: metav1.NewTime(noon), Ended: metav1.NewTime(noon.Add(time.Hour)), Nodes: counts,
	}}, state.History[:9]...)}
	if diff := cmp.Diff(want, got.State); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheHistoryHasTheFirstStableRevisionOnceAnotherIsCompleted(t *testing.T) {
	t.Parallel()

	got := rollout.Next(rollout.Input{Policy: policy(1, 1, 0), State: rollingOut(), Nodes: nodes("a", 1, is(rollout.Proven)), Now: noon.Add(time.Hour)})
	if h := got.State.History; len(h) != 2 || h[0].Revision != "new" || h[1].Revision != "old" || !got.State.Completed("old") {
		t.Errorf("the history is %+v", h)
	}
}

func TestSamplesNameTheNodesThatTheRolloutWaitsFor(t *testing.T) {
	t.Parallel()

	says := func(message string) option { return func(n *rollout.Node) { n.Message = message } }
	got := rollout.Next(rollout.Input{Policy: policy(9, 9, 9), State: rollingOut("m00"), Now: noon, Nodes: join(
		nodes("a", 2, is(rollout.Applying)), nodes("m", 1), nodes("d", 5, disabled, says("its runs are disabled")), nodes("f", 1, fails),
		nodes("p", 3, is(rollout.Proven)), nodes("s", 1, is(rollout.Soaking), says("File/b: no space")), nodes("u", 3, is(rollout.Untried)),
	)})
	want := []v1alpha1.RolloutSample{
		{Node: "f00", State: "Failed", Message: "File/a: no space"},
		{Node: "m00", State: "Applying"},
		{Node: "a00", State: "Applying"},
		{Node: "a01", State: "Applying"},
		{Node: "s00", State: "Soaking", Message: "File/b: no space"},
		{Node: "u00", State: "Excluded"},
		{Node: "u01", State: "Excluded"},
		{Node: "u02", State: "Excluded"},
		{Node: "d00", State: "Excluded", Message: "its runs are disabled"},
		{Node: "d01", State: "Excluded", Message: "its runs are disabled"},
	}
	if diff := cmp.Diff(want, got.Samples); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADecisionIsMadeAgainWhenAPhaseChangesByItself(t *testing.T) {
	t.Parallel()

	in := func(d time.Duration) option { return func(n *rollout.Node) { n.Changes = d } }
	for name, tt := range map[string]struct {
		state rollout.State
		nodes []rollout.Node
		want  time.Duration
	}{
		"nothing changes by itself":   {rollingOut(), nodes("n", 1), 0},
		"the first of several phases": {rollingOut(), join(nodes("a", 1, is(rollout.Soaking), in(time.Minute)), nodes("b", 1, is(rollout.Applying), in(time.Second))), time.Second},
		"not one that does not count": {rollingOut(), nodes("n", 1, unaffected, is(rollout.Soaking), in(time.Second)), 0},
		"a node that has come back":   {rollout.State{Stable: "old"}, nodes("n", 1, unaffected, is(rollout.Soaking), came(noon)), 12 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rollout.Next(rollout.Input{Policy: policy(1, 9, 0), State: tt.state, Nodes: tt.nodes, Now: noon})
			if got.Wake != tt.want {
				t.Errorf("in %s, want %s", got.Wake, tt.want)
			}
		})
	}
}

func TestNodesThatHaveYetToGetTheStableRevisionAreCountedAtRest(t *testing.T) {
	t.Parallel()

	all := join(nodes("a", 2, unaffected, is(rollout.Proven)), nodes("b", 3, abandoned), nodes("f", 1, failing), nodes("s", 4, silent))
	for _, stopped := range []bool{true, false} {
		got := rollout.Next(rollout.Input{Policy: policy(1, 2, 0), State: rollout.State{Stable: "old"}, Nodes: all, Stopped: stopped, Now: noon})
		if got.Elsewhere != 4 {
			t.Errorf("stopped %t: %d nodes", stopped, got.Elsewhere)
		}
	}
	if got := rollout.Next(rollout.Input{Policy: policy(1, 2, 0), State: rollingOut(), Nodes: all, Now: noon}); got.Elsewhere != 0 {
		t.Errorf("during a rollout: %d nodes", got.Elsewhere)
	}
}

func TestANodeOfTheControlPlaneIsBusyUntilItIsKnownToBeWell(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		nodes []rollout.Node
		want  bool
	}{
		"in flight":          {nodes("c", 1, controlPlane, is(rollout.Soaking)), true},
		"failed":             {nodes("c", 1, controlPlane, fails), true},
		"proven":             {nodes("c", 1, controlPlane, is(rollout.Proven)), false},
		"before it":          {nodes("c", 1, controlPlane), false},
		"another node is it": {nodes("n", 1, is(rollout.Soaking)), false},
	} {
		if got := rollout.ControlPlaneBusy(rollout.Input{Policy: policy(1, 1, 1), State: rollingOut(), Nodes: tt.nodes, Now: noon}); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestPercentagesAreOfTheAffectedNodes(t *testing.T) {
	t.Parallel()

	p := policy(1, 9, 0)
	p.First, p.MaxInFlight = intstr.FromString("10%"), intstr.FromString("20%")
	state := rollingOut()
	got := rollout.Next(rollout.Input{Policy: p, State: state, Nodes: join(nodes("a", 50, unaffected), nodes("n", 31)), Now: noon})
	if len(got.Admit) != 4 {
		t.Errorf("10%% of 31 nodes are %d", len(got.Admit))
	}
}
