package conditions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

func newStatus(counts v1alpha1.NodeCounts, samples []v1alpha1.NodeSample, problems []compiler.Problem, before v1alpha1.ResourceStatus, now metav1.Time) v1alpha1.ResourceStatus {
	return conditions.Status(conditions.Outcome{Generation: 1, Summary: nodestatus.Summary{Counts: counts, Samples: samples}, Problems: problems, Selector: "nodeSelector role=web"}, before, now)
}

// lines are events as "Type Reason note", with the related object in parentheses.
func lines(all []conditions.Event) (out []string) {
	for _, e := range all {
		line := e.Type + " " + e.Reason + " " + e.Note
		if o, ok := e.Related.(*corev1.ObjectReference); ok {
			line += " (" + o.APIVersion + " " + o.Kind + " " + o.Name + ")"
		}
		out = append(out, line)
	}
	return out
}

func TestConditions(t *testing.T) {
	t.Parallel()

	settled := []string{"Reconciling=False Settled", "Stalled=False Settled"}
	for name, tt := range map[string]struct {
		counts   v1alpha1.NodeCounts
		samples  []v1alpha1.NodeSample
		problems []compiler.Problem
		want     []string
	}{
		"all nodes in sync is Ready": {
			counts: v1alpha1.NodeCounts{Selected: 2, InSync: 2},
			want:   append([]string{"Ready=True InSync: 2 of 2 nodes in sync"}, settled...),
		},
		"no node selected is Ready with a reason of its own": {
			want: append([]string{"Ready=True NoNodesSelected: no node matches nodeSelector role=web"}, settled...),
		},
		"only silent nodes, which had applied it, are not Ready": {
			counts: v1alpha1.NodeCounts{Selected: 2, Unknown: 2},
			want:   append([]string{"Ready=False Unknown: 0 of 2 nodes in sync, 2 unknown"}, settled...),
		},
		"only disabled nodes are not Ready": {
			counts:  v1alpha1.NodeCounts{Selected: 1, Disabled: 1},
			samples: []v1alpha1.NodeSample{{Node: "n7", State: "Disabled", Message: "runs are disabled: maintenance"}},
			want:    append([]string{"Ready=False Disabled: 0 of 1 nodes in sync, 1 disabled; n7: runs are disabled: maintenance"}, settled...),
		},
		"disabled nodes beside others that report are Ready": {
			counts: v1alpha1.NodeCounts{Selected: 3, InSync: 1, Disabled: 1, Unknown: 1},
			want:   append([]string{"Ready=True InSync: 1 of 3 nodes in sync, 1 disabled, 1 unknown"}, settled...),
		},
		"a rollout is Reconciling": {
			counts: v1alpha1.NodeCounts{Selected: 3, InSync: 2, Pending: 1},
			want: []string{
				"Ready=False Applying: 2 of 3 nodes in sync, 1 pending",
				"Reconciling=True Applying: 2 of 3 nodes in sync, 1 pending", "Stalled=False Settled",
			},
		},
		"a failure outweighs a rollout, and names a node": {
			counts:  v1alpha1.NodeCounts{Selected: 3, Failed: 1, Pending: 2},
			samples: []v1alpha1.NodeSample{{Node: "n7", State: "Failed", Message: "disk full"}},
			want: []string{
				"Ready=False Failed: 0 of 3 nodes in sync, 1 failed, 2 pending; n7: disk full",
				"Reconciling=True Applying: 0 of 3 nodes in sync, 1 failed, 2 pending; n7: disk full", "Stalled=False Settled",
			},
		},
		"skipped nodes are not Ready": {
			counts: v1alpha1.NodeCounts{Selected: 1, Skipped: 1},
			want:   append([]string{"Ready=False Skipped: 0 of 1 nodes in sync, 1 skipped"}, settled...),
		},
		"nodes out of sync are not Ready": {
			counts: v1alpha1.NodeCounts{Selected: 1, OutOfSync: 1},
			want:   append([]string{"Ready=False OutOfSync: 0 of 1 nodes in sync, 1 out of sync"}, settled...),
		},
		"a failure is Stalled once nothing else is in progress": {
			counts:  v1alpha1.NodeCounts{Selected: 2, InSync: 1, Failed: 1},
			samples: []v1alpha1.NodeSample{{Node: "n7", State: "Failed", Message: "disk full"}},
			want: []string{
				"Ready=False Failed: 1 of 2 nodes in sync, 1 failed; n7: disk full", "Reconciling=False Settled",
				"Stalled=True Failed: 1 of 2 nodes in sync, 1 failed; n7: disk full",
			},
		},
		"a noop resource is Ready with a reason of its own": {
			counts: v1alpha1.NodeCounts{Selected: 2, InSync: 1, Noop: 1},
			want:   append([]string{"Ready=True Noop: 1 of 2 nodes in sync, 1 only reported (noop)"}, settled...),
		},
		"waiting for facts is Reconciling, not Stalled": {
			counts:   v1alpha1.NodeCounts{Selected: 1, Skipped: 1},
			problems: []compiler.Problem{{Node: "n1", Reason: "WaitingForFacts", Message: "waits for the facts of node n1"}},
			want: []string{
				"Ready=False WaitingForFacts: waits for the facts of node n1",
				"Reconciling=True WaitingForFacts: waits for the facts of node n1", "Stalled=False Settled",
			},
		},
		"a conflict is Stalled and never Reconciling, and outweighs other problems": {
			counts: v1alpha1.NodeCounts{Selected: 3, Skipped: 2, Pending: 1},
			problems: []compiler.Problem{
				{Reason: "DependsOnProblem", Message: "waits for File/x"},
				{Node: "n1", Reason: "Conflict", Message: "path is claimed by File/b"},
				{Node: "n2", Reason: "Conflict", Message: "path is claimed by File/b"},
			},
			want: []string{
				"Ready=False Conflict: path is claimed by File/b (on node n1 and 1 more); and 1 more",
				"Reconciling=False Settled",
				"Stalled=True Conflict: path is claimed by File/b (on node n1 and 1 more); and 1 more",
				"Conflict=True Conflict: path is claimed by File/b (on node n1 and 1 more)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := newStatus(tt.counts, tt.samples, tt.problems, v1alpha1.ResourceStatus{}, metav1.Now())
			var got []string
			for _, c := range status.Conditions {
				line := c.Type + "=" + string(c.Status) + " " + c.Reason
				if c.Message != "" {
					line += ": " + c.Message
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceIsNotReadyBeforeDeselectedNodesHaveCleanedUp(t *testing.T) {
	t.Parallel()

	const left = "1 node was deselected and has yet to clean up: n1 (Pending: held)"
	for name, tt := range map[string]struct {
		outcome conditions.Outcome
		want    []string
	}{
		"no node is selected":      {conditions.Outcome{}, []string{"Ready=False CleaningUp: " + left, "Reconciling=True CleaningUp: " + left, "Stalled=False Settled: "}},
		"all selected are in sync": {outcome(v1alpha1.NodeCounts{Selected: 1, InSync: 1}), []string{"Ready=False CleaningUp: " + left, "Reconciling=True CleaningUp: " + left, "Stalled=False Settled: "}},
		"one has failed":           {outcome(v1alpha1.NodeCounts{Selected: 1, Failed: 1}), []string{"Ready=False Failed: 0 of 1 nodes in sync, 1 failed", "Reconciling=True CleaningUp: " + left, "Stalled=False Settled: "}},
		"it is withheld, too": {
			conditions.Outcome{Problems: []compiler.Problem{{Reason: "DeselectionHeld", Message: "confirm it"}}},
			[]string{"Ready=False DeselectionHeld: confirm it", "Reconciling=False Settled: ", "Stalled=True DeselectionHeld: confirm it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.outcome.Deselected = left
			var got []string
			for _, c := range conditions.Status(tt.outcome, v1alpha1.ResourceStatus{}, metav1.Now()).Conditions {
				got = append(got, c.Type+"="+string(c.Status)+" "+c.Reason+": "+c.Message)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func outcome(counts v1alpha1.NodeCounts) conditions.Outcome {
	return conditions.Outcome{Summary: nodestatus.Summary{Counts: counts}}
}

func TestConditionMessagesArePrintable(t *testing.T) {
	t.Parallel()

	const hostile, printed = "a\x1b[2J\nb\u202e\xff", `a\x1b[2J\nb\u202e\xff`
	problems := []compiler.Problem{{Reason: "Conflict", Message: hostile}}
	samples := []v1alpha1.NodeSample{{Node: "n1", State: "Failed", Message: hostile}}
	for name, status := range map[string]v1alpha1.ResourceStatus{
		"problems": newStatus(v1alpha1.NodeCounts{}, nil, problems, v1alpha1.ResourceStatus{}, metav1.Now()),
		"waiting":  newStatus(v1alpha1.NodeCounts{}, nil, []compiler.Problem{{Reason: "WaitingForKey", Message: hostile}}, v1alpha1.ResourceStatus{}, metav1.Now()),
		"samples":  newStatus(v1alpha1.NodeCounts{Selected: 1, Failed: 1}, samples, nil, v1alpha1.ResourceStatus{}, metav1.Now()),
		"deletion": conditions.Status(conditions.Outcome{Cleanup: hostile}, v1alpha1.ResourceStatus{}, metav1.Now()),
	} {
		var checked int
		for _, c := range status.Conditions {
			if c.Message != "" && !strings.Contains(c.Message, printed) {
				t.Errorf("%s: %s says %q", name, c.Type, c.Message)
			} else if c.Message != "" {
				checked++
			}
		}
		if checked < 2 {
			t.Errorf("%s: %d conditions have a message, want more", name, checked)
		}
	}
}

func TestTransitionTimeChangesWithTheStatusAlone(t *testing.T) {
	t.Parallel()

	first, second := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	pending := newStatus(v1alpha1.NodeCounts{Selected: 2, Pending: 2}, nil, nil, v1alpha1.ResourceStatus{}, first)
	fewer := newStatus(v1alpha1.NodeCounts{Selected: 2, Pending: 1, InSync: 1}, nil, nil, pending, second)
	done := newStatus(v1alpha1.NodeCounts{Selected: 2, InSync: 2}, nil, nil, fewer, second)
	times := func(s v1alpha1.ResourceStatus) map[string]int64 {
		m := map[string]int64{}
		for _, c := range s.Conditions {
			m[c.Type] = c.LastTransitionTime.Unix()
		}
		return m
	}
	if diff := cmp.Diff(map[string]int64{"Ready": 1000, "Reconciling": 1000, "Stalled": 1000}, times(fewer)); diff != "" {
		t.Errorf("another count is not a transition:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"Ready": 2000, "Reconciling": 2000, "Stalled": 1000}, times(done)); diff != "" {
		t.Errorf("the end of a rollout is a transition:\n%s", diff)
	}
}

func TestAppliedGeneration(t *testing.T) {
	t.Parallel()

	before := v1alpha1.ResourceStatus{AppliedGeneration: 0}
	for name, tt := range map[string]struct {
		counts   v1alpha1.NodeCounts
		problems []compiler.Problem
		want     int64
	}{
		"all in sync":                 {v1alpha1.NodeCounts{Selected: 2, InSync: 2}, nil, 1},
		"a failure counts as applied": {v1alpha1.NodeCounts{Selected: 2, InSync: 1, Failed: 1}, nil, 1},
		"one node is pending":         {v1alpha1.NodeCounts{Selected: 2, InSync: 1, Pending: 1}, nil, 0},
		"a problem blocks it":         {v1alpha1.NodeCounts{Selected: 1, Skipped: 1}, []compiler.Problem{{Reason: "Conflict"}}, 0},
		"no node is selected":         {v1alpha1.NodeCounts{}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newStatus(tt.counts, nil, tt.problems, before, metav1.Now()).AppliedGeneration; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSilentNodesBlockOnlyUnappliedGenerations(t *testing.T) {
	t.Parallel()

	counts := v1alpha1.NodeCounts{Selected: 3, InSync: 2, Unknown: 1}
	for unapplied, want := range map[int32]string{
		0: "Ready=True InSync: 2 of 3 nodes in sync, 1 unknown; applied 1; Current",
		1: "Ready=False Unknown: 2 of 3 nodes in sync, 1 unknown; applied 0; InProgress",
	} {
		s := conditions.Status(conditions.Outcome{Generation: 1, Summary: nodestatus.Summary{Counts: counts, Unapplied: unapplied}}, v1alpha1.ResourceStatus{}, metav1.Time{})
		c := s.Conditions[0]
		got := fmt.Sprintf("%s=%s %s: %s; applied %d; %s", c.Type, c.Status, c.Reason, c.Message, s.AppliedGeneration, kstatus(t, 1, s))
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestContestIsAConditionThatNamesTheOtherProgram(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		contest drift.Contest
		want    string
	}{
		"a service": {
			drift.Contest{Nodes: 1, Node: "web-1", By: &v1alpha1.Author{PID: 7, Executable: "/usr/bin/puppet", Unit: "puppet.service"}},
			"changed again and again by /usr/bin/puppet (puppet.service) on node web-1; corrections are made less and less often",
		},
		"a pod, on many nodes": {
			drift.Contest{Nodes: 4, Node: "web-1", By: &v1alpha1.Author{PID: 7, Executable: "/cni", Pod: "kube-system/cni-x", Unit: "x.scope"}},
			"changed again and again by /cni (pod kube-system/cni-x) on node web-1 and 3 more; corrections are made less and less often",
		},
		"nobody knows": {
			drift.Contest{Nodes: 1, Node: "web-1"},
			"changed again and again by an unknown program on node web-1; corrections are made less and less often",
		},
		"a program with a hostile name": {
			drift.Contest{Nodes: 1, Node: "web-1", By: &v1alpha1.Author{Executable: "a\n\x1b[2Jb"}},
			`changed again and again by a\n\x1b[2Jb on node web-1; corrections are made less and less often`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := conditions.Outcome{Generation: 1, Summary: nodestatus.Summary{Counts: v1alpha1.NodeCounts{Selected: 4, InSync: 4}}, Contest: &c.contest}
			s := conditions.Status(o, v1alpha1.ResourceStatus{}, metav1.Now())
			var got []string
			for _, is := range s.Conditions {
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s=%s %s: %s", is.Type, is.Status, is.Reason, is.Message), ": "))
			}
			want := []string{"Ready=True InSync: 4 of 4 nodes in sync", "Reconciling=False Settled", "Stalled=False Settled", "Contended=True RepeatedDrift: " + c.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceEvents(t *testing.T) {
	t.Parallel()

	status := func(c v1alpha1.NodeCounts, problems ...compiler.Problem) v1alpha1.ResourceStatus {
		return newStatus(c, nil, problems, v1alpha1.ResourceStatus{}, metav1.Now())
	}
	inSync := status(v1alpha1.NodeCounts{Selected: 1, InSync: 1})
	pending := status(v1alpha1.NodeCounts{Selected: 1, Pending: 1})
	failed := status(v1alpha1.NodeCounts{Selected: 1, Failed: 1})
	onNode := newStatus(v1alpha1.NodeCounts{Selected: 1, Failed: 1}, []v1alpha1.NodeSample{{Node: "n1", State: "Failed", Message: "disk full"}}, nil, v1alpha1.ResourceStatus{}, metav1.Now())
	contended := func(by string) v1alpha1.ResourceStatus {
		o := conditions.Outcome{Generation: 1, Summary: nodestatus.Summary{Counts: v1alpha1.NodeCounts{Selected: 1, InSync: 1}}}
		o.Contest = &drift.Contest{Nodes: 1, Node: "n1", By: &v1alpha1.Author{Executable: by}}
		return conditions.Status(o, v1alpha1.ResourceStatus{}, metav1.Now())
	}
	contested := status(v1alpha1.NodeCounts{Selected: 1, Skipped: 1}, compiler.Problem{Reason: "Conflict", Message: "also File/b"})
	for name, tt := range map[string]struct {
		before, now v1alpha1.ResourceStatus
		want        []string
	}{
		"the first status that is ready":              {v1alpha1.ResourceStatus{}, inSync, []string{"Normal BecameReady 1 of 1 nodes in sync"}},
		"the start of a rollout causes none":          {inSync, pending, nil},
		"a rollout that ends well":                    {pending, inSync, []string{"Normal BecameReady 1 of 1 nodes in sync"}},
		"a node that fails":                           {inSync, failed, []string{"Warning NoLongerReady 0 of 1 nodes in sync, 1 failed"}},
		"a node that fails, and is known":             {inSync, onNode, []string{"Warning NoLongerReady 0 of 1 nodes in sync, 1 failed; n1: disk full (v1 Node n1)"}},
		"an unchanged status causes none":             {failed, failed, nil},
		"a problem that is found":                     {inSync, contested, []string{"Warning ProblemFound Conflict: also File/b", "Warning NoLongerReady also File/b"}},
		"a problem that is found at first":            {v1alpha1.ResourceStatus{}, contested, []string{"Warning ProblemFound Conflict: also File/b"}},
		"a contest that begins":                       {inSync, contended("puppet"), []string{"Warning Contended changed again and again by puppet on node n1; corrections are made less and less often"}},
		"a contest with another program":              {contended("puppet"), contended("chef"), nil},
		"a contest that is over":                      {contended("puppet"), inSync, nil},
		"a problem that is resolved during a rollout": {contested, pending, []string{"Normal ProblemResolved Conflict is resolved"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, lines(conditions.ResourceEvents(tt.before, tt.now))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodeEvents(t *testing.T) {
	t.Parallel()

	status := func(reports ...v1alpha1.ResourceReport) v1alpha1.NodeCatalogStatus {
		return v1alpha1.NodeCatalogStatus{Resources: reports}
	}
	at := func(seconds int64) *metav1.Time { return new(metav1.Unix(seconds, 0)) }
	drift := v1alpha1.ResourceReport{
		Ref: "File/a", State: "Changed", Corrective: true, Since: at(1),
		Changes: []v1alpha1.PropertyChange{{Property: "mode", Is: "0600", Should: "0644"}},
	}
	again := drift
	again.Since = at(2)
	only := drift
	only.State = "Noop"
	onlyAgain := only
	onlyAgain.Since = at(2)
	noop := v1alpha1.ResourceReport{Ref: "File/a", State: "Noop", Since: at(1)}
	failure := v1alpha1.ResourceReport{Ref: "File/b", State: "Failed", Message: "disk full"}
	known := status(drift)
	known.Drift = []v1alpha1.DriftRecord{{Ref: "File/b"}, {Ref: "File/a", Author: &v1alpha1.Author{Executable: "/usr/bin/chmod", PID: 7, Unit: "cron.service"}}}
	for name, tt := range map[string]struct {
		before, now v1alpha1.NodeCatalogStatus
		want        []string
	}{
		"drift that was corrected":       {status(), status(drift), []string{`Normal DriftCorrected File/a: mode changed "0600" to "0644"; author: unknown (fettle.dev/v1alpha1 File a)`}},
		"drift with a known author":      {status(), known, []string{`Normal DriftCorrected File/a: mode changed "0600" to "0644"; author: /usr/bin/chmod (PID 7, cron.service) (fettle.dev/v1alpha1 File a)`}},
		"the same drift, reported again": {status(drift), status(drift), nil},
		"the same drift, a second time":  {status(drift), status(again), []string{`Normal DriftCorrected File/a: mode changed "0600" to "0644"; author: unknown (fettle.dev/v1alpha1 File a)`}},
		"drift that is only reported":    {status(), status(only), []string{`Warning DriftDetected File/a: mode is "0600" and should be "0644"; author: unknown (fettle.dev/v1alpha1 File a)`}},
		"drift that lasts":               {status(only), status(only), nil},
		"other drift":                    {status(only), status(onlyAgain), []string{`Warning DriftDetected File/a: mode is "0600" and should be "0644"; author: unknown (fettle.dev/v1alpha1 File a)`}},
		"a difference that is no drift":  {status(), status(noop), nil},
		"a failure":                      {status(drift), status(drift, failure), []string{"Warning ResourceFailed File/b: disk full (fettle.dev/v1alpha1 File b)"}},
		"a failure that stays":           {status(failure), status(failure), nil},
		"an intended change causes none": {status(), status(v1alpha1.ResourceReport{Ref: "File/a", State: "Changed"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, lines(conditions.NodeEvents(tt.before, tt.now))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// kstatus is what Flux makes of a File with a status.
func kstatus(t *testing.T, generation int64, s v1alpha1.ResourceStatus) string {
	t.Helper()
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.File{
		TypeMeta: metav1.TypeMeta{APIVersion: "fettle.dev/v1alpha1", Kind: "File"}, ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: generation}, Status: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: o})
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Status)
}

func TestKstatus(t *testing.T) {
	t.Parallel()

	problem := func(reason string) []compiler.Problem {
		return []compiler.Problem{{Ref: "File/a", Reason: reason, Message: "why"}}
	}
	for name, tt := range map[string]struct {
		counts     v1alpha1.NodeCounts
		problems   []compiler.Problem
		generation int64 // of the resource; the status speaks of 1
		want       string
	}{
		"all nodes are in sync":              {v1alpha1.NodeCounts{Selected: 2, InSync: 2}, nil, 1, "Current"},
		"no node is selected":                {v1alpha1.NodeCounts{}, nil, 1, "Current"},
		"the spec has changed since":         {v1alpha1.NodeCounts{Selected: 2, InSync: 2}, nil, 2, "InProgress"},
		"a node has yet to apply it":         {v1alpha1.NodeCounts{Selected: 2, InSync: 1, Pending: 1}, nil, 1, "InProgress"},
		"it failed on a node":                {v1alpha1.NodeCounts{Selected: 2, InSync: 1, Failed: 1}, nil, 1, "Failed"},
		"it failed while others still apply": {v1alpha1.NodeCounts{Selected: 2, Failed: 1, Pending: 1}, nil, 1, "InProgress"},
		"a node only reports what differs":   {v1alpha1.NodeCounts{Selected: 2, InSync: 1, Noop: 1}, nil, 1, "Current"},
		"a node has not reported facts":      {v1alpha1.NodeCounts{Selected: 1, Skipped: 1}, problem(v1alpha1.ReasonWaitingForFacts), 1, "InProgress"},
		"a conflict":                         {v1alpha1.NodeCounts{Selected: 1, Skipped: 1}, problem(v1alpha1.ReasonConflict), 1, "Failed"},
		"a problem while others still apply": {v1alpha1.NodeCounts{Selected: 2, Skipped: 1, Pending: 1}, problem(v1alpha1.ReasonInvalidTemplate), 1, "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStatus(tt.counts, nil, tt.problems, v1alpha1.ResourceStatus{}, metav1.Time{})
			if got := kstatus(t, tt.generation, s); got != tt.want {
				t.Errorf("got %s, want %s: %+v", got, tt.want, s.Conditions)
			}
		})
	}
}

func TestAResourceThatWaitsForARollout(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		counts  v1alpha1.NodeCounts
		rollout conditions.Rollout
		want    []string
		kstatus string
	}{
		"is Reconciling for the reason of the policy": {
			counts:  v1alpha1.NodeCounts{Selected: 3, InSync: 1, Pending: 2},
			rollout: conditions.Rollout{Policy: "prod", Nodes: 2, Reason: v1alpha1.ReasonPaused, Message: "spec.paused is set"},
			want: []string{
				"Ready=False Paused: 1 of 3 nodes in sync, 2 pending; 2 nodes wait for RolloutPolicy prod: spec.paused is set",
				"Reconciling=True Paused: 1 of 3 nodes in sync, 2 pending; 2 nodes wait for RolloutPolicy prod: spec.paused is set",
				"Stalled=False Settled",
			},
			kstatus: "InProgress",
		},
		"is Stalled if a person has to act, whatever failed": {
			counts:  v1alpha1.NodeCounts{Selected: 2, Failed: 1, Pending: 1},
			rollout: conditions.Rollout{Policy: "prod", Nodes: 1, Reason: v1alpha1.ReasonRolloutHalted, Message: "n1 failed", Stalled: true},
			want: []string{
				"Ready=False RolloutHalted: 0 of 2 nodes in sync, 1 failed, 1 pending; 1 node waits for RolloutPolicy prod: n1 failed",
				"Reconciling=False Settled",
				"Stalled=True RolloutHalted: 0 of 2 nodes in sync, 1 failed, 1 pending; 1 node waits for RolloutPolicy prod: n1 failed",
			},
			kstatus: "Failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := conditions.Status(conditions.Outcome{Generation: 1, Summary: nodestatus.Summary{Counts: tt.counts}, Rollout: &tt.rollout}, v1alpha1.ResourceStatus{}, metav1.Time{})
			var got []string
			for _, c := range s.Conditions {
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), ": "))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := kstatus(t, 1, s); got != tt.kstatus {
				t.Errorf("kstatus says %s, want %s", got, tt.kstatus)
			}
		})
	}
}
