package drift_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
)

// at is a time, in minutes after midnight.
func at(minute int) time.Time { return time.Date(2026, 1, 2, 0, minute, 0, 0, time.UTC) }

func record(ref string, count int64, last int, corrected bool) v1alpha1.DriftRecord {
	return v1alpha1.DriftRecord{Ref: v1alpha1.ReportedRef(ref), Count: count, LastSeen: metav1.NewTime(at(last)), Corrected: corrected}
}

type list = []v1alpha1.DriftRecord

func expect(t *testing.T, r *drift.Records, ref v1alpha1.ResourceRef, selected []string, want *v1alpha1.ResourceDrift) {
	t.Helper()
	if diff := cmp.Diff(want, r.Of(ref, selected)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", ref, diff)
	}
}

func TestRecordsOfSelectedNodesAreAddedUp(t *testing.T) {
	t.Parallel()

	var r drift.Records
	all := []string{"n1", "n2", "n3"}
	expect(t, &r, "File/a", all, nil)
	r.Observe("n1", list{record("File/a", 3, 5, true), record("User/b", 1, 4, false)}, at(9))
	r.Observe("n2", list{record("File/a", 2, 7, false)}, at(9))
	r.Observe("liar", list{record("File/a", 1e9, 8, false), record("File/other", 1, 8, true)}, at(9))
	expect(t, &r, "File/a", all, &v1alpha1.ResourceDrift{Nodes: 2, Count: 5, Uncorrected: 1, LastSeen: metav1.NewTime(at(7))})
	expect(t, &r, "User/b", all, &v1alpha1.ResourceDrift{Nodes: 1, Count: 1, Uncorrected: 1, LastSeen: metav1.NewTime(at(4))})
	expect(t, &r, "File/other", all, nil)
	expect(t, &r, "File/a", nil, nil)
	expect(t, &r, "File/a", []string{"n1"}, &v1alpha1.ResourceDrift{Nodes: 1, Count: 3, LastSeen: metav1.NewTime(at(5))})
}

func TestRecordsFollowWhatNodesReport(t *testing.T) {
	t.Parallel()

	var r drift.Records
	all := []string{"n1", "n2"}
	r.Observe("n1", list{record("File/a", 1, 5, true), record("File/a", 2, 6, true)}, at(9)) // twice, as no agent does
	r.Observe("n2", list{record("File/a", 1, 5, true)}, at(9))
	expect(t, &r, "File/a", all, &v1alpha1.ResourceDrift{Nodes: 2, Count: 3, LastSeen: metav1.NewTime(at(6))})
	r.Observe("n1", list{record("File/a", 3, 8, true)}, at(9))
	expect(t, &r, "File/a", all, &v1alpha1.ResourceDrift{Nodes: 2, Count: 4, LastSeen: metav1.NewTime(at(8))})
	r.Observe("n1", list{record("File/a", 3, 8, false)}, at(9))
	expect(t, &r, "File/a", all, &v1alpha1.ResourceDrift{Nodes: 2, Count: 4, Uncorrected: 1, LastSeen: metav1.NewTime(at(8))})
	r.Observe("n1", nil, at(9))
	expect(t, &r, "File/a", all, &v1alpha1.ResourceDrift{Nodes: 1, Count: 1, LastSeen: metav1.NewTime(at(5))})
	r.Retain(func(string) bool { return false })
	expect(t, &r, "File/a", all, nil)
}

func TestOnlySelectedNodesThatAreHeardContest(t *testing.T) {
	t.Parallel()

	var r drift.Records
	puppet, chef := &v1alpha1.Author{Executable: "puppet"}, &v1alpha1.Author{Executable: "chef"}
	contended := func(count int64, by *v1alpha1.Author) list {
		one := record("File/a", count, 5, true)
		one.Contended, one.Author = true, by
		return list{one}
	}
	silent := ""
	expect := func(selected []string, want *drift.Contest) {
		t.Helper()
		got := r.Contest("File/a", selected, func(node string) bool { return node != silent })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	all := []string{"n1", "n2"}
	expect(all, nil)
	r.Observe("n1", list{record("File/a", 3, 5, true)}, at(9))
	expect(all, nil)
	r.Observe("n2", contended(3, puppet), at(9))
	r.Observe("liar", contended(3, nil), at(9))
	expect(all, &drift.Contest{Nodes: 1, Node: "n2", By: puppet})
	r.Observe("n1", contended(3, nil), at(9)) // nothing else has changed
	expect(all, &drift.Contest{Nodes: 2, Node: "n1"})
	r.Observe("n1", contended(3, chef), at(9))
	expect(all, &drift.Contest{Nodes: 2, Node: "n1", By: chef})
	expect([]string{"n2"}, &drift.Contest{Nodes: 1, Node: "n2", By: puppet})
	expect(nil, nil)
	silent = "n1"
	expect(all, &drift.Contest{Nodes: 1, Node: "n2", By: puppet})
	silent = "n2"
	r.Observe("n1", list{record("File/a", 3, 5, true)}, at(9))
	expect(all, nil)
	silent = ""
	r.Observe("n2", nil, at(9))
	expect(all, nil)
}

func TestDriftInTheFutureIsDatedNow(t *testing.T) {
	t.Parallel()

	var r drift.Records
	r.Observe("n1", list{record("File/a", 1, 50000, true)}, at(9))
	expect(t, &r, "File/a", []string{"n1"}, &v1alpha1.ResourceDrift{Nodes: 1, Count: 1, LastSeen: metav1.NewTime(at(9))})
}

func TestRecentDriftIsAddedUp(t *testing.T) {
	t.Parallel()

	var r drift.Records
	r.Observe("n1", list{record("File/a", 3, 5, true), record("File/old", 9, 1, false)}, at(9))
	r.Observe("n2", list{record("File/a", 2, 7, false), record("File//srv/x", 1, 7, true)}, at(9))
	r.Observe("n3", list{record("File/old", 1, 4, true)}, at(9))
	want := drift.Sum{Resources: 2, Nodes: map[string]bool{"n1": true, "n2": true}, Count: 6, Uncorrected: 1}
	if diff := cmp.Diff(want, r.Since(at(5))); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkFleetThatDrifts adds up the records of 5,000 nodes with 20 each, of which one reported since, and counts all.
func BenchmarkFleetThatDrifts(b *testing.B) {
	var r drift.Records
	var nodes []string
	records := map[string]list{}
	for i := range 5000 {
		name := fmt.Sprintf("n%04d", i)
		nodes = append(nodes, name)
		for j := range 20 {
			records[name] = append(records[name], record(fmt.Sprintf("File/f%02d", j), 1, j, true))
		}
	}
	step := func() {
		records["n0000"] = append(list{}, records["n0000"]...)
		records["n0000"][0].Count++
		for _, n := range nodes {
			r.Observe(n, records[n], at(60))
		}
		for j := range 20 {
			r.Of(v1alpha1.ResourceRef(fmt.Sprintf("File/f%02d", j)), nodes)
		}
	}
	b.Run("resources", func(b *testing.B) {
		for b.Loop() {
			step()
		}
	})
	b.Run("fleet", func(b *testing.B) {
		for b.Loop() {
			r.Since(at(10))
		}
	})
}
