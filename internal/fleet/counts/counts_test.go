package counts_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/counts"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// at is a time, in minutes after midnight.
func at(minute int) time.Time { return time.Date(2026, 1, 2, 0, minute, 0, 0, time.UTC) }

func record(ref string, count int64, last int, corrected bool) v1alpha1.DriftRecord {
	return v1alpha1.DriftRecord{Ref: v1alpha1.ReportedRef(ref), Count: count, LastSeen: metav1.NewTime(at(last)), Corrected: corrected}
}

// fleet has a node in each state and drift at four times.
func fleet() (*counts.Counts, *drift.Records) {
	c := counts.New([]string{"File", "User"})
	for node, state := range map[string]nodestate.State{
		"in-sync": "InSync", "drifted": "InSync", "drifted-before": "InSync", "out-of-sync": "OutOfSync",
		"failed": "Failed", "withheld": "Withheld", "silent": "Silent", "disabled": "Disabled", "held": "Held", "pending": "Pending",
	} {
		c.AddNode(node, state)
	}
	for _, state := range []string{"Ready", "Ready", "Reconciling", "NotReady"} {
		c.AddResource("File", state)
	}
	c.AddResource("User", "Stalled")
	var records drift.Records
	records.Observe("drifted", []v1alpha1.DriftRecord{record("File/a", 3, 125, true), record("File/old", 9, -24*60+120, true)}, at(130))
	records.Observe("drifted-before", []v1alpha1.DriftRecord{record("File/a", 2, 119, true)}, at(130))
	records.Observe("failed", []v1alpha1.DriftRecord{record("User/b", 1, 126, false)}, at(130))
	return c, &records
}

func hour(n int, inSync, drifting, failed, unknown int32) v1alpha1.FleetHour {
	return v1alpha1.FleetHour{Hour: metav1.NewTime(at(60 * n)), InSync: inSync, Drifting: drifting, Failed: failed, Unknown: unknown}
}

func TestStatusCountsEachNodeAndResourceOnce(t *testing.T) {
	t.Parallel()

	c, records := fleet()
	want := v1alpha1.FleetStatus{
		Updated:   new(metav1.NewTime(at(130))),
		Nodes:     v1alpha1.FleetNodes{Total: 10, InSync: 3, Pending: 1, Held: 1, OutOfSync: 1, Failed: 1, Withheld: 1, Disabled: 1, Silent: 1},
		Resources: v1alpha1.FleetResources{Total: 5, Ready: 2, Reconciling: 1, Stalled: 1, NotReady: 1},
		Drift:     v1alpha1.FleetDrift{Resources: 2, Nodes: 3, Count: 6, Uncorrected: 1},
		History:   []v1alpha1.FleetHour{hour(2, 2, 2, 2, 4)},
	}
	if diff := cmp.Diff(want, c.Status(records, v1alpha1.FleetStatus{}, at(130))); diff != "" {
		t.Error(diff)
	}
}

func TestStatusStaysWhileNothingChanges(t *testing.T) {
	t.Parallel()

	c, records := fleet()
	c.Deselection = &v1alpha1.HeldDeselection{Token: "3f2a91c0", Nodes: 1}
	first := c.Status(records, v1alpha1.FleetStatus{}, at(130))
	if diff := cmp.Diff(&v1alpha1.HeldDeselection{Token: "3f2a91c0", Nodes: 1}, first.Deselection); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, c.Status(records, first, at(131))); diff != "" {
		t.Error(diff)
	}
}

func TestHistoryHasTheLast168Hours(t *testing.T) {
	t.Parallel()

	c, records := fleet()
	var s v1alpha1.FleetStatus
	for n := range 200 {
		for range 2 {
			s = c.Status(records, s, at(60*n+30))
		}
	}
	if n, last := len(s.History), s.History[0]; n != 168 || !cmp.Equal(last, hour(199, 3, 1, 2, 4)) {
		t.Errorf("%d hours, the first is %v", n, last)
	}
	if got := s.History[167].Hour.Time; !got.Equal(at(60 * 32)) {
		t.Errorf("the last is %s", got)
	}
	back := c.Status(records, s, at(60*198+30)) // the clock was set back
	if diff := cmp.Diff(metav1.NewTime(at(60*198)), back.History[0].Hour); diff != "" || len(back.History) != 167 {
		t.Errorf("%d hours: %s", len(back.History), diff)
	}
	later := c.Status(records, s, at(60*300)) // no manager ran for a while
	if diff := cmp.Diff(metav1.NewTime(at(60*199)), later.History[1].Hour); diff != "" || len(later.History) != 68 {
		t.Errorf("%d hours: %s", len(later.History), diff)
	}
}
