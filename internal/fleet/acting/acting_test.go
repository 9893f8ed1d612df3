package acting_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/fleet/acting"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
)

func remote(kind string) (time.Duration, bool) { return 2 * time.Minute, kind == "DNSZone" }

// silence returns the silence of an agent whose Lease lasts a minute.
func silence(since time.Duration, with int) *heartbeat.Silence {
	return &heartbeat.Silence{For: since, Duration: time.Minute, With: with}
}

// reports returns a NodeCatalog whose agent has observed a generation.
func reports(observed int64, adjust ...func(*v1alpha1.NodeCatalogStatus)) *v1alpha1.NodeCatalog {
	nc := &v1alpha1.NodeCatalog{Status: v1alpha1.NodeCatalogStatus{AgentVersion: "1", ObservedGeneration: observed}}
	for _, a := range adjust {
		a(&nc.Status)
	}
	return nc
}

func disabled(s *v1alpha1.NodeCatalogStatus) {
	s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDisabled}}
}

func TestPlacement(t *testing.T) {
	t.Parallel()

	told := v1alpha1.NodeCatalogSpec{
		Entries:  []v1alpha1.CatalogEntry{{Kind: "DNSZone", Name: "acts"}, {Kind: "File", Name: "own"}},
		Withheld: []v1alpha1.Withheld{{Ref: "DNSZone/stops"}, {Ref: "File/withheld"}},
	}
	for name, tt := range map[string]struct {
		node     acting.Observation
		eligible bool
		stops    placement.Assignment
		next     time.Duration
	}{
		"a node without an agent":               {acting.Observation{Reported: &v1alpha1.NodeCatalog{}}, false, placement.Stopping, 0},
		"a node that has yet to apply":          {acting.Observation{Reported: reports(1)}, true, placement.Stopping, 0},
		"a node that has applied":               {acting.Observation{Reported: reports(2), Applied: true}, true, placement.Stopped, 0},
		"a node that has become silent":         {acting.Observation{Reported: reports(1), Silence: silence(90*time.Second, 1)}, false, placement.Stopping, 30 * time.Second},
		"a node whose programs have ended":      {acting.Observation{Reported: reports(1), Silence: silence(2*time.Minute, 1)}, false, placement.Stopped, 0},
		"a disabled node that has yet to see":   {acting.Observation{Reported: reports(1, disabled)}, false, placement.Stopping, 0},
		"a disabled node that knows of it":      {acting.Observation{Reported: reports(2, disabled)}, false, placement.Stopped, 0},
		"an enabled node that only knows of it": {acting.Observation{Reported: reports(2)}, true, placement.Stopping, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.node.Spec, tt.node.Generation = told, 2
			got, next := tt.node.Placement(remote)
			want := placement.Candidate{Eligible: tt.eligible, Assignments: map[v1alpha1.ResourceRef]placement.Assignment{"DNSZone/acts": placement.Acting, "DNSZone/stops": tt.stops}}
			if diff := cmp.Diff(want, got); diff != "" || next != tt.next {
				t.Errorf("next in %s, want %s; (-want +got):\n%s", next, tt.next, diff)
			}
		})
	}
}

func TestTakeoverFromSilentNodes(t *testing.T) {
	t.Parallel()

	const held = "the agents of 21 of 100 nodes fell silent at about the same time"
	for name, tt := range map[string]struct {
		silence *heartbeat.Silence
		nodes   int
		keeps   bool
		held    string
		next    time.Duration
	}{
		"an agent that is heard":                                   {nil, 100, false, "", 0},
		"one that has just become silent, as others may have, too": {silence(59*time.Second, 1), 100, true, "", time.Second},
		"one that is silent alone":                                 {silence(time.Minute, 1), 100, false, "", 0},
		"as many as may be":                                        {silence(time.Minute, 20), 100, false, "", 0},
		"too many":                                                 {silence(time.Minute, 21), 100, true, held, 0},
		"too many, for days: nobody knows who would gain by a takeover": {silence(72*time.Hour, 21), 100, true, held, 0},
		"one of one":   {silence(time.Minute, 1), 1, false, "", 0},
		"two of three": {silence(time.Minute, 2), 3, true, "the agents of 2 of 3 nodes fell silent at about the same time", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, next := acting.Observation{Reported: reports(1), Silence: tt.silence, Nodes: tt.nodes, MaxPercent: 20}.Placement(remote)
			want := placement.Candidate{Eligible: tt.silence == nil, StaysActing: tt.keeps, Held: tt.held, Assignments: map[v1alpha1.ResourceRef]placement.Assignment{}}
			if diff := cmp.Diff(want, got); diff != "" || next != tt.next {
				t.Errorf("next in %s, want %s; (-want +got):\n%s", next, tt.next, diff)
			}
		})
	}
}

func TestPlacementChanged(t *testing.T) {
	t.Parallel()

	moving := func(nc *v1alpha1.NodeCatalog) *v1alpha1.NodeCatalog {
		nc.Spec.Withheld = []v1alpha1.Withheld{{Ref: "DNSZone/a", Reason: v1alpha1.ReasonMoving}}
		return nc
	}
	for name, tt := range map[string]struct {
		before, now *v1alpha1.NodeCatalog
		want        bool
	}{
		"the same":                               {reports(1), reports(1), false},
		"a generation is applied":                {reports(1), reports(2), false},
		"a generation that withholds a resource": {moving(reports(1)), moving(reports(2)), true},
		"runs are disabled":                      {reports(1), reports(1, disabled), true},
		"an agent reports for the first time":    {&v1alpha1.NodeCatalog{}, reports(1), true},
	} {
		if got := acting.PlacementChanged(tt.before, tt.now); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
