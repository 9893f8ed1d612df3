package overview_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/overview"
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

func node(name string, drift ...v1alpha1.DriftRecord) overview.Node {
	n := overview.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Drift = drift
	n.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied}}
	return n
}

func fleet() []overview.Node {
	return []overview.Node{
		node("web-1", by("sed", record("File/motd", 1, 5, 3, true, "mode")), record("User/ann", 2, 2, 1, false, "shell")),
		node("web-2", by("vi", record("File/motd", 0, 4, 2, true, "content")), record("File//srv/x", 4, 4, 1, true, "ensure")),
		node("web-3"),
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
func is(name, reason string) overview.Node {
	n := node(name)
	n.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "because", LastTransitionTime: metav1.NewTime(at(3))}}
	n.Status.Counts = &v1alpha1.RunCounts{Total: 5, InSync: 2, Failed: 1, Skipped: 1, Noop: 1}
	return n
}

func TestStatusCountsEachNodeOnce(t *testing.T) {
	t.Parallel()

	silent := is("web-4", v1alpha1.ReasonResourcesFailed)
	silent.Annotations = map[string]string{v1alpha1.AnnotationSilentSince: "2026-01-02T01:00:00Z"}
	all := append(fleet(), is("web-6", v1alpha1.ReasonDisabled), is("web-5", v1alpha1.ReasonResourcesFailed), silent, is("web-7", v1alpha1.ReasonApplying), overview.Node{})
	want := overview.Status{
		Nodes:     overview.NodeCounts{Total: 8, Ready: 3, Applying: 2, Failed: 1, Disabled: 1, Silent: 1},
		Resources: overview.ResourceCounts{Total: 20, InSync: 8, Noop: 4, Skipped: 4, Failed: 4},
		Drift:     overview.DriftCounts{Resources: 2, Nodes: 2},
		Problems: []overview.Problem{
			{Node: "web-4", Reason: "Silent", Since: at(1), Message: "its agent does not renew its Lease"},
			{Node: "web-5", Reason: v1alpha1.ReasonResourcesFailed, Since: at(3), Message: "because"},
			{Node: "web-6", Reason: v1alpha1.ReasonDisabled, Since: at(3), Message: "because"},
		},
	}
	if diff := cmp.Diff(want, overview.StatusOf(all, at(3).Add(24*time.Hour))); diff != "" {
		t.Error(diff)
	}
}
