package policies_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

// rest is the status of a policy with 12 nodes at r1.
func rest() v1alpha1.RolloutPolicyStatus {
	return v1alpha1.RolloutPolicyStatus{Stable: r1, Nodes: v1alpha1.RolloutNodes{Total: 12}}
}

// rolling is the status of a rollout of r2 to 10 of 12 nodes.
func rolling() v1alpha1.RolloutPolicyStatus {
	return v1alpha1.RolloutPolicyStatus{Stable: r1, Target: r2, Nodes: v1alpha1.RolloutNodes{Total: 12, Affected: 10, Admitted: 4, Proven: 1}}
}

// failed adds nodes where r2 failed.
func failed(s v1alpha1.RolloutPolicyStatus, count int32, nodes ...string) v1alpha1.RolloutPolicyStatus {
	for _, n := range nodes {
		s.Failures = append(s.Failures, v1alpha1.RolloutFailure{Node: n, Reason: v1alpha1.RolloutNodeFailed, Message: "File/motd: disk full"})
	}
	s.Nodes.Failed = count
	return s
}

var (
	paused      = policies.Stop{Reason: "Paused", Message: "spec.paused is true"}
	gateAbsent  = policies.Stop{Reason: "WaitingForGate", Message: "the gate a is absent"}
	gateFailed  = policies.Stop{Reason: "GateFailed", Message: "the gate a is False", Stalled: true}
	shut        = policies.Stop{Reason: "WaitingForWindow", Message: "spec.window opens Sat"}
	notValid    = policies.Stop{Reason: "InvalidPolicy", Message: "spec.window is odd", Stalled: true}
	waitsForOne = policies.Stop{Reason: "WaitingForPolicy", Message: "revision 3333333333 waits until policy staging has completed it"}
	pinned      = policies.Stop{Reason: "Pinned", Message: "spec.revision pins the nodes"}
)

// summary is "Status Reason: message" of Ready, and the one of Reconciling and Stalled that is True.
func summary(all []metav1.Condition) string {
	line := fmt.Sprintf("%s %s: %s", all[0].Status, all[0].Reason, all[0].Message)
	for _, c := range all[1:3] {
		if c.Status == metav1.ConditionTrue {
			line += " [" + c.Type + " " + c.Reason + "]"
		}
	}
	return line
}

func TestConditions(t *testing.T) {
	t.Parallel()
	longFailure := failed(rolling(), 1, "n7")
	longFailure.Failures[0].Message = "File/motd" + strings.Repeat("-", 200) + "syntax error on line 3"
	excluded := rolling()
	excluded.Nodes = v1alpha1.RolloutNodes{Total: 12, Affected: 2, Excluded: 2}
	excluded.Samples = []v1alpha1.RolloutSample{{Node: "n1", State: "Excluded", Message: "its agent is silent"}}
	stragglers := rest()
	stragglers.Nodes.Excluded = 2
	for name, tt := range map[string]struct {
		outcome policies.Outcome // Newest and Aim are r1 unless set
		want    string
		kstatus status.Status
	}{
		"at rest": {policies.Outcome{Status: rest()}, "True RolledOut: revision 1111111111: rolled out to 12 nodes", status.CurrentStatus},
		"excluded nodes at rest": {
			policies.Outcome{Status: stragglers}, "True RolledOut: revision 1111111111: rolled out to 12 nodes, 2 excluded", status.CurrentStatus,
		},
		"no nodes": {
			policies.Outcome{Status: v1alpha1.RolloutPolicyStatus{Stable: r1}},
			"True NoNodesTaken: no node matches spec.nodeSelector, or other policies take all that do", status.CurrentStatus,
		},
		"a pause at rest shows": {
			policies.Outcome{Status: rest(), Stop: paused},
			"True Paused: revision 1111111111: rolled out to 12 nodes; spec.paused is true", status.CurrentStatus,
		},
		"a pin at rest shows": {
			policies.Outcome{Status: rest(), Newest: r2, Waits: pinned}, "True Pinned: spec.revision pins the nodes", status.CurrentStatus,
		},
		"a closed window at rest stops nothing": {
			policies.Outcome{Status: rest(), Stop: shut}, "True RolledOut: revision 1111111111: rolled out to 12 nodes", status.CurrentStatus,
		},
		"a failed gate at rest stops nothing yet": {
			policies.Outcome{Status: rest(), Stop: gateFailed},
			"True RolledOut: revision 1111111111: rolled out to 12 nodes; the next change will not begin: the gate a is False", status.CurrentStatus,
		},
		"before the first revision": {
			policies.Outcome{Status: v1alpha1.RolloutPolicyStatus{}}, "False RollingOut: no revision has been compiled yet [Reconciling RollingOut]", status.InProgressStatus,
		},
		"a rollout is about to begin": {
			policies.Outcome{Status: rest(), Newest: r2, Aim: r2},
			"False RollingOut: revision 2222222222 begins once nothing has been edited for a moment [Reconciling RollingOut]", status.InProgressStatus,
		},
		"rolling out": {
			policies.Outcome{Status: rolling(), Newest: r2, Aim: r2},
			"False RollingOut: revision 2222222222: 1 of 10 affected nodes proven, 3 in progress [Reconciling RollingOut]", status.InProgressStatus,
		},
		"rolling out with a failure that is allowed": {
			policies.Outcome{Status: failed(rolling(), 1, "n7"), Newest: r2, Aim: r2, MaxFailed: 1},
			"False RollingOut: revision 2222222222: 1 of 10 affected nodes proven, 2 in progress, 1 failed (n7 Failed: File/motd: disk full) [Reconciling RollingOut]", status.InProgressStatus,
		},
		"rolling out while another revision waits its turn": {
			policies.Outcome{Status: rolling(), Newest: r3, Aim: r3},
			"False RollingOut: revision 2222222222: 1 of 10 affected nodes proven, 3 in progress; revision 3333333333 comes next [Reconciling RollingOut]", status.InProgressStatus,
		},
		"rolling out while another revision waits for a policy": {
			policies.Outcome{Status: rolling(), Newest: r3, Aim: r2, Waits: waitsForOne},
			"False RollingOut: revision 2222222222: 1 of 10 affected nodes proven, 3 in progress; " + waitsForOne.Message + " [Reconciling RollingOut]", status.InProgressStatus,
		},
		"a pause within a rollout": {
			policies.Outcome{Status: rolling(), Newest: r2, Aim: r2, Stop: paused},
			"False Paused: revision 2222222222: 1 of 10 affected nodes proven, 3 in progress; spec.paused is true [Reconciling Paused]", status.InProgressStatus,
		},
		"a pause before a rollout": {
			policies.Outcome{Status: rest(), Newest: r2, Aim: r2, Stop: paused}, "False Paused: spec.paused is true [Reconciling Paused]", status.InProgressStatus,
		},
		"a pause while a revision waits for a policy": {
			policies.Outcome{Status: rest(), Newest: r3, Aim: "none", Waits: waitsForOne, Stop: paused}, "False Paused: spec.paused is true [Reconciling Paused]", status.InProgressStatus,
		},
		"an absent gate": {
			policies.Outcome{Status: rest(), Newest: r2, Aim: r2, Stop: gateAbsent}, "False WaitingForGate: the gate a is absent [Reconciling WaitingForGate]", status.InProgressStatus,
		},
		"a closed window": {
			policies.Outcome{Status: rolling(), Newest: r2, Aim: r2, Stop: shut},
			"False WaitingForWindow: revision 2222222222: 1 of 10 affected nodes proven, 3 in progress; spec.window opens Sat [Reconciling WaitingForWindow]", status.InProgressStatus,
		},
		"a closed window while a revision waits for a policy": {
			policies.Outcome{Status: rest(), Newest: r3, Aim: "none", Waits: waitsForOne, Stop: shut},
			"False WaitingForPolicy: " + waitsForOne.Message + " [Reconciling WaitingForPolicy]", status.InProgressStatus,
		},
		"a closed window before a revision between the stable and the newest": {
			policies.Outcome{Status: rest(), Newest: r3, Aim: r2, Waits: waitsForOne, Stop: shut}, "False WaitingForWindow: spec.window opens Sat [Reconciling WaitingForWindow]", status.InProgressStatus,
		},
		"no node can try the target": {
			policies.Outcome{Status: excluded, Newest: r2, Aim: r2, Unproven: true},
			"False RolloutUnproven: revision 2222222222: none of 2 affected nodes can try it (n1: its agent is silent and 1 more); it goes on when one can [Reconciling RolloutUnproven]", status.InProgressStatus,
		},
		"halted": {
			policies.Outcome{Status: failed(rolling(), 3, "n7", "n8"), Newest: r2, Aim: r2, Halted: true},
			"False RolloutHalted: revision 2222222222 is halted: 3 of 4 admitted nodes failed, and maxFailed allows 0: n7 Failed: File/motd: disk full, n8 Failed: File/motd: disk full and 1 more; " +
				"fix it in Git, raise maxFailed, or run kubectl fettle rollout undo web [Stalled RolloutHalted]", status.FailedStatus,
		},
		"halted within maxFailed": {
			policies.Outcome{Status: failed(rolling(), 1, "n7"), Newest: r2, Aim: r2, Halted: true, MaxFailed: 1},
			"False RolloutHalted: revision 2222222222 is halted: 1 of 4 admitted nodes failed, and none has proven it: n7 Failed: File/motd: disk full; " +
				"fix it in Git, or run kubectl fettle rollout undo web [Stalled RolloutHalted]", status.FailedStatus,
		},
		"halted with a long failure, of which both ends are shown": {
			policies.Outcome{Status: longFailure, Newest: r2, Aim: r2, Halted: true},
			"False RolloutHalted: revision 2222222222 is halted: 1 of 4 admitted nodes failed, and maxFailed allows 0: n7 Failed: File/motd" + strings.Repeat("-", 89) + "..." + strings.Repeat("-", 77) + "syntax error on line 3; " +
				"fix it in Git, raise maxFailed, or run kubectl fettle rollout undo web [Stalled RolloutHalted]", status.FailedStatus,
		},
		"halted while paused": {
			policies.Outcome{Status: failed(rolling(), 1, "n7"), Newest: r2, Aim: r2, Halted: true, Stop: paused},
			"False RolloutHalted: revision 2222222222 is halted: 1 of 4 admitted nodes failed, and maxFailed allows 0: n7 Failed: File/motd: disk full; " +
				"fix it in Git, raise maxFailed, or run kubectl fettle rollout undo web [Stalled RolloutHalted]", status.FailedStatus,
		},
		"halted until the fix takes its place": {
			policies.Outcome{Status: failed(rolling(), 3, "n7"), Newest: r3, Aim: r3, Halted: true},
			"False RollingOut: revision 2222222222: 1 of 10 affected nodes proven, 3 failed (n7 Failed: File/motd: disk full and 2 more); revision 3333333333 comes next [Reconciling RollingOut]",
			status.InProgressStatus,
		},
		"halted until the fix has passed another policy": {
			policies.Outcome{Status: failed(rolling(), 3, "n7"), Newest: r3, Aim: r2, Waits: waitsForOne, Repaired: true, Halted: true},
			"False RollingOut: revision 2222222222: 1 of 10 affected nodes proven, 3 failed (n7 Failed: File/motd: disk full and 2 more); " + waitsForOne.Message + " [Reconciling RollingOut]",
			status.InProgressStatus,
		},
		"halted, and another revision has to pass another policy": {
			policies.Outcome{Status: failed(rolling(), 3, "n7", "n8", "n9"), Newest: r3, Aim: r2, Waits: waitsForOne, Halted: true},
			"False RolloutHalted: revision 2222222222 is halted: 3 of 4 admitted nodes failed, and maxFailed allows 0: " +
				"n7 Failed: File/motd: disk full, n8 Failed: File/motd: disk full, n9 Failed: File/motd: disk full; fix it in Git, raise maxFailed, or run kubectl fettle rollout undo web [Stalled RolloutHalted]",
			status.FailedStatus,
		},
		"nodes that follow at rest": {
			policies.Outcome{Status: rest(), Newest: r1, Aim: r1, Elsewhere: 1}, "False RollingOut: 1 node has yet to get revision 1111111111 [Reconciling RollingOut]", status.InProgressStatus,
		},
		"nodes that would follow at rest if the window were open": {
			policies.Outcome{Status: rest(), Newest: r1, Aim: r1, Elsewhere: 500, Stop: shut},
			"False WaitingForWindow: 500 nodes have yet to get revision 1111111111; spec.window opens Sat [Reconciling WaitingForWindow]", status.InProgressStatus,
		},
		"a gate failed": {
			policies.Outcome{Status: rolling(), Newest: r2, Aim: r2, Stop: gateFailed},
			"False GateFailed: revision 2222222222: 1 of 10 affected nodes proven, 3 in progress; the gate a is False [Stalled GateFailed]", status.FailedStatus,
		},
		"an invalid policy, also at rest": {
			policies.Outcome{Status: rest(), Stop: notValid}, "False InvalidPolicy: spec.window is odd [Stalled InvalidPolicy]", status.FailedStatus,
		},
		"a pin to a revision that is gone": {
			policies.Outcome{Status: rest(), Newest: r2, Waits: policies.Stop{Reason: "InvalidPolicy", Message: "spec.revision: gone", Stalled: true}},
			"False InvalidPolicy: spec.revision: gone [Stalled InvalidPolicy]", status.FailedStatus,
		},
		"nodes in conflict": {
			policies.Outcome{Status: rest(), Conflicts: []string{"n1", "n2"}, ConflictWith: []string{"all", "db"}},
			"False NodeConflict: 2 nodes are selected by policies all, db, too, and are not changed: n1, n2; change spec.nodeSelector of one of them [Stalled NodeConflict]", status.FailedStatus,
		},
		"a node in conflict": {
			policies.Outcome{Status: rolling(), Newest: r2, Aim: r2, Conflicts: []string{"n1"}, ConflictWith: []string{"all"}},
			"False NodeConflict: 1 node is selected by policy all, too, and is not changed: n1; change spec.nodeSelector of one of them [Stalled NodeConflict]", status.FailedStatus,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tt.outcome
			o.Policy, o.Generation, o.Now = "web", 7, now
			if o.Newest == "" {
				o.Newest = o.Status.Stable
			}
			if o.Aim == "" && o.Waits.Reason == "" {
				o.Aim = o.Status.Stable
			}
			o.Aim = strings.TrimPrefix(o.Aim, "none")
			all := policies.Conditions(o)
			if diff := cmp.Diff(tt.want, summary(all)); diff != "" {
				t.Error(diff)
			}
			if got := kstatus(t, all); got != tt.kstatus {
				t.Errorf("kstatus is %s, want %s", got, tt.kstatus)
			}
		})
	}
}

// kstatus is what kubectl wait, Flux and others make of conditions.
func kstatus(t *testing.T, all []metav1.Condition) status.Status {
	t.Helper()
	p := &v1alpha1.RolloutPolicy{TypeMeta: metav1.TypeMeta{APIVersion: "fettle.dev/v1alpha1", Kind: "RolloutPolicy"}}
	p.Generation, p.Status.ObservedGeneration, p.Status.Conditions = 7, 7, all
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

func TestConditionsOfGatesStay(t *testing.T) {
	t.Parallel()
	p := gate(newPolicy(t, "web", ""), "example.com/tests", metav1.ConditionFalse)
	o := policies.Outcome{Policy: "web", Status: rest(), Generation: 1, Now: now}
	o.Status.Conditions = append(policies.Conditions(o), p.Status.Conditions...)
	if diff := cmp.Diff(o.Status.Conditions, policies.Conditions(o)); diff != "" {
		t.Error(diff)
	}
}

func TestATransitionTimeChangesWithTheStatus(t *testing.T) {
	t.Parallel()
	o := policies.Outcome{Policy: "web", Status: rest(), Newest: r1, Aim: r1, Generation: 1, Now: now}
	o.Status.Conditions = policies.Conditions(o)
	o.Now = now.Add(time.Minute)
	o.Stop = paused // another reason, the same status
	o.Status.Conditions = policies.Conditions(o)
	o.Newest, o.Aim, o.Stop, o.Now = r2, r2, policies.Stop{}, now.Add(2*time.Minute)
	var since []time.Duration
	for _, c := range policies.Conditions(o) {
		since = append(since, c.LastTransitionTime.Sub(now))
	}
	if diff := cmp.Diff([]time.Duration{2 * time.Minute, 2 * time.Minute, 0}, since); diff != "" {
		t.Errorf("Ready, Reconciling, Stalled: %s", diff)
	}
}

// Whatever was decided, kstatus finds exactly one state, and the three conditions agree: Stalled is Failed, Reconciling is InProgress,
// and otherwise the policy is Ready.
func TestLawsOfConditions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for range 3000 {
		o := policies.Outcome{Policy: "web", Generation: 7, Now: now, Newest: pick("", r1, r2, r3), Aim: pick("", r1, r2), MaxFailed: r.IntN(2), Halted: r.IntN(4) == 0, Unproven: r.IntN(4) == 0}
		o.Status = v1alpha1.RolloutPolicyStatus{Stable: pick("", r1), Target: pick("", r2), Nodes: v1alpha1.RolloutNodes{Total: r.Int32N(3), Affected: r.Int32N(3), Excluded: r.Int32N(2)}}
		o.Stop = []policies.Stop{{}, {}, paused, gateAbsent, gateFailed, shut, notValid}[r.IntN(7)]
		o.Waits = []policies.Stop{{}, {}, waitsForOne, pinned, notValid}[r.IntN(5)]
		if r.IntN(4) == 0 {
			o.Conflicts, o.ConflictWith = []string{"n1"}, []string{"db"}
		}
		all := policies.Conditions(o)
		isTrue := func(i int) bool { return all[i].Status == metav1.ConditionTrue }
		want := map[string]status.Status{"true false false": status.CurrentStatus, "false true false": status.InProgressStatus, "false false true": status.FailedStatus}
		if got := want[fmt.Sprint(isTrue(0), isTrue(1), isTrue(2))]; got == "" || got != kstatus(t, all) || all[0].Message == "" {
			t.Fatalf("%+v has %+v", o, all)
		}
	}
}
