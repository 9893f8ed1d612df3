package overview_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// at is a time, in hours after midnight.
func at(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }

func record(ref string, first, last int, count int64, corrected bool, properties ...string) v1alpha1.DriftRecord {
	return v1alpha1.DriftRecord{
		Ref: v1alpha1.ReportedRef(ref), FirstSeen: metav1.NewTime(at(first)), LastSeen: metav1.NewTime(at(last)), Count: count, Corrected: corrected, Properties: properties,
	}
}

// by adds an author.
func by(executable string, r v1alpha1.DriftRecord) v1alpha1.DriftRecord {
	r.Author = &v1alpha1.Author{Executable: executable}
	return r
}

func nodeCatalog(name string, drift ...v1alpha1.DriftRecord) overview.NodeCatalog {
	n := overview.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Drift = drift
	n.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied}}
	return n
}

func fleet() []overview.NodeCatalog {
	return []overview.NodeCatalog{
		nodeCatalog("web-1", by("sed", record("File/motd", 1, 5, 3, true, "mode")), record("User/ann", 2, 2, 1, false, "shell")),
		nodeCatalog("web-2", by("vi", record("File/motd", 0, 4, 2, true, "content")), record("File//srv/x", 4, 4, 1, true, "ensure")),
		nodeCatalog("web-3"),
	}
}

func TestDriftIsGrouped(t *testing.T) {
	t.Parallel()

	motd1 := overview.Drift{Resource: "File/motd", Node: "web-1", Resources: 1, Nodes: 1, Count: 3, FirstSeen: at(1), LastSeen: at(5), Properties: []string{"mode"}, Author: &v1alpha1.Author{Executable: "sed"}}
	motd2 := overview.Drift{Resource: "File/motd", Node: "web-2", Resources: 1, Nodes: 1, Count: 2, FirstSeen: at(0), LastSeen: at(4), Properties: []string{"content"}, Author: &v1alpha1.Author{Executable: "vi"}}
	for name, c := range map[string]struct {
		query overview.Query
		want  []overview.Drift
	}{
		"by resource": {overview.Query{By: overview.ByResource}, []overview.Drift{
			{Resource: "File/motd", Resources: 1, Nodes: 2, Count: 5, FirstSeen: at(0), LastSeen: at(5), Properties: []string{"content", "mode"}, Author: &v1alpha1.Author{Executable: "sed"}},
			{Resource: "File//srv/x", Resources: 1, Nodes: 1, Count: 1, FirstSeen: at(4), LastSeen: at(4), Properties: []string{"ensure"}},
			{Resource: "User/ann", Resources: 1, Nodes: 1, Count: 1, Uncorrected: 1, FirstSeen: at(2), LastSeen: at(2), Properties: []string{"shell"}},
		}},
		"by node": {overview.Query{By: overview.ByNode}, []overview.Drift{
			{Node: "web-1", Resources: 2, Nodes: 1, Count: 4, Uncorrected: 1, FirstSeen: at(1), LastSeen: at(5), Properties: []string{"mode", "shell"}, Author: &v1alpha1.Author{Executable: "sed"}},
			{Node: "web-2", Resources: 2, Nodes: 1, Count: 3, FirstSeen: at(0), LastSeen: at(4), Properties: []string{"content", "ensure"}, Author: &v1alpha1.Author{Executable: "vi"}},
		}},
		"by kind, the first": {overview.Query{By: overview.ByKind, Top: 1}, []overview.Drift{
			{Kind: "File", Resources: 2, Nodes: 2, Count: 6, FirstSeen: at(0), LastSeen: at(5), Properties: []string{"content", "ensure", "mode"}, Author: &v1alpha1.Author{Executable: "sed"}},
		}},
		"of a resource":       {overview.Query{By: overview.ByBoth, Refs: []string{"file/motd"}}, []overview.Drift{motd1, motd2}},
		"of a node":           {overview.Query{By: overview.ByBoth, Refs: []string{"File/motd"}, Nodes: []string{"web-2"}}, []overview.Drift{motd2}},
		"since a time":        {overview.Query{By: overview.ByBoth, Since: at(5)}, []overview.Drift{motd1}},
		"of another resource": {overview.Query{By: overview.ByBoth, Refs: []string{"File/mot"}}, []overview.Drift{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(c.want, overview.Drifts(fleet(), c.query)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// is returns a node whose condition Ready is False for a reason.
func is(name, reason string) overview.NodeCatalog {
	n := nodeCatalog(name)
	n.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "because", LastTransitionTime: metav1.NewTime(at(3))}}
	n.Status.Counts = &v1alpha1.RunCounts{Total: 5, InSync: 2, Failed: 1, Skipped: 1, Noop: 1}
	return n
}

func silent(n overview.NodeCatalog) overview.NodeCatalog {
	n.Annotations = map[string]string{v1alpha1.AnnotationSilentSince: "2026-01-02T01:00:00Z"}
	return n
}

func held(n overview.NodeCatalog) overview.NodeCatalog {
	n.Spec.Held = &v1alpha1.Held{Since: metav1.NewTime(at(2)), Resources: []v1alpha1.ResourceRef{"File/motd"}}
	return n
}

// states is a fleet with nodes in several states.
func states() []overview.NodeCatalog {
	applying := is("web-8", v1alpha1.ReasonApplying)
	applying.Status.Counts = nil
	return append(fleet(), is("web-6", v1alpha1.ReasonDisabled), is("web-5", v1alpha1.ReasonResourcesFailed), silent(is("web-4", v1alpha1.ReasonResourcesFailed)), applying,
		is("web-9", v1alpha1.ReasonResourcesFailed), held(nodeCatalog("web-7")))
}

func TestStatusCountsEachNodeOnce(t *testing.T) {
	t.Parallel()

	problem := func(node string, state nodestate.State, reason string, since int, message string) overview.NodeProblem {
		return overview.NodeProblem{Node: node, State: state, Reason: reason, Since: at(since), Message: message}
	}
	want := overview.Status{
		Nodes:     v1alpha1.FleetNodes{Total: 9, InSync: 3, Pending: 1, Held: 1, Failed: 2, Disabled: 1, Silent: 1},
		Resources: overview.ResourceCounts{Total: 20, Counts: nodestate.Counts{InSync: 4, Noop: 3, Skipped: 3, Failed: 3, Disabled: 2, Unknown: 5}},
		Drift:     overview.DriftCounts{Resources: 2, Nodes: 2},
		Problems: []overview.NodeProblem{
			problem("web-7", nodestate.Held, "Held", 2, "the update is held: the node would lose File/motd"),
			problem("web-5", nodestate.Failed, v1alpha1.ReasonResourcesFailed, 3, "because"),
			problem("web-9", nodestate.Failed, v1alpha1.ReasonResourcesFailed, 3, "because"),
			problem("web-4", nodestate.Silent, "Silent", 1, "no heartbeat from the node's agent for longer than its Lease lasts"),
			problem("web-6", nodestate.Disabled, v1alpha1.ReasonDisabled, 3, "because"),
		},
		Others: []overview.NodeProblem{problem("web-8", nodestate.Pending, v1alpha1.ReasonApplying, 3, "because")},
	}
	if diff := cmp.Diff(want, overview.StatusOf(states(), at(3).Add(24*time.Hour))); diff != "" {
		t.Error(diff)
	}
}

func TestNodesWithTheSameProblemAreGrouped(t *testing.T) {
	t.Parallel()

	var all []overview.NodeCatalog
	for _, name := range []string{"b", "a", "c"} {
		all = append(all, silent(nodeCatalog(name)))
	}
	early := is("d", v1alpha1.ReasonResourcesFailed)
	early.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at(1))
	other := is("e", v1alpha1.ReasonResourcesFailed)
	other.Status.Conditions[0].Message = "something else"
	all = append(all, other, is("g", v1alpha1.ReasonResourcesFailed), early, held(nodeCatalog("f")))
	type group struct {
		State   nodestate.State
		Message string
		Since   time.Time
		Nodes   []string
	}
	var got []group
	for _, g := range overview.GroupedProblems(overview.StatusOf(all, at(5)).Problems) {
		got = append(got, group{g.State, g.Message, g.Since, g.Nodes})
	}
	want := []group{
		{nodestate.Held, "the update is held: the node would lose File/motd", at(2), []string{"f"}},
		{nodestate.Failed, "because", at(1), []string{"d", "g"}},
		{nodestate.Failed, "something else", at(3), []string{"e"}},
		{nodestate.Silent, "no heartbeat from the node's agent for longer than its Lease lasts", at(1), []string{"a", "b", "c"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDriftNamesNodesWhereItIsUnknown(t *testing.T) {
	t.Parallel()

	all := states()
	all[2].Spec.Withheld = []v1alpha1.Withheld{{Ref: "File/motd", Reason: v1alpha1.ReasonConflict}}
	for name, c := range map[string]struct {
		query overview.Query
		want  []string
	}{
		"everywhere": {overview.Query{}, []string{
			"checked against an older catalog on 1 node, whose update is held: web-7",
			"resources are withheld, and not checked, on 1 node: web-3",
			"unknown since the agent fell silent on 1 node: web-4",
			"not checked on 1 node, where runs are disabled: web-6",
		}},
		"of another resource": {overview.Query{Refs: []string{"User/ann"}, Nodes: []string{"web-3", "web-4"}}, []string{"unknown since the agent fell silent on 1 node: web-4"}},
		"of the resource":     {overview.Query{Refs: []string{"file/motd"}, Nodes: []string{"web-1", "web-3"}}, []string{"resources are withheld, and not checked, on 1 node: web-3"}},
		"where all is known":  {overview.Query{Nodes: []string{"web-1"}}, nil},
	} {
		var got []string
		for _, u := range overview.UncheckedBy(all, c.query) {
			got = append(got, u.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDriftThatCannotBeCorrectedHasFailed(t *testing.T) {
	t.Parallel()

	n := nodeCatalog("web-1", record("File/motd", 1, 2, 1, false, "ensure"), record("User/ann", 1, 2, 1, false, "shell"), record("File/old", 1, 2, 1, true))
	n.Status.Resources = []v1alpha1.ResourceReport{{Ref: "File/motd", State: v1alpha1.StateFailed}, {Ref: "User/ann", State: v1alpha1.StateNoop}, {Ref: "File/old", State: v1alpha1.StateFailed}}
	got := overview.Drifts([]overview.NodeCatalog{n}, overview.Query{By: overview.ByNode})
	if len(got) != 1 || got[0].Uncorrected != 2 || got[0].Failed != 1 {
		t.Errorf("got %+v", got)
	}
}
