package acting_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/placement"
	"github.com/fettle-dev/fettle/internal/fleet/acting"
)

func remote(kind string) (time.Duration, bool) { return time.Minute, kind == "DNSZone" }

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

func TestHolds(t *testing.T) {
	t.Parallel()

	told := v1alpha1.NodeCatalogSpec{
		Entries:  []v1alpha1.CatalogEntry{{Kind: "DNSZone", Name: "acts"}, {Kind: "File", Name: "own"}},
		Withheld: []v1alpha1.Withheld{{Ref: "DNSZone/stops"}, {Ref: "File/withheld"}},
	}
	for name, tt := range map[string]struct {
		node  acting.Node
		able  bool
		stops placement.Hold
		next  time.Duration
	}{
		"a node without an agent":               {acting.Node{Reported: &v1alpha1.NodeCatalog{}}, false, placement.Stopping, 0},
		"a node that has yet to apply":          {acting.Node{Reported: reports(1)}, true, placement.Stopping, 0},
		"a node that has applied":               {acting.Node{Reported: reports(2), Applied: true}, true, placement.Stopped, 0},
		"a node that has become silent":         {acting.Node{Reported: reports(1), Silent: true, SilentFor: 20 * time.Second}, false, placement.Stopping, 40 * time.Second},
		"a node whose programs have ended":      {acting.Node{Reported: reports(1), Silent: true, SilentFor: time.Minute}, false, placement.Stopped, 0},
		"a disabled node that has yet to see":   {acting.Node{Reported: reports(1, disabled)}, false, placement.Stopping, 0},
		"a disabled node that knows of it":      {acting.Node{Reported: reports(2, disabled)}, false, placement.Stopped, 0},
		"an enabled node that only knows of it": {acting.Node{Reported: reports(2)}, true, placement.Stopping, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.node.Spec, tt.node.Generation = told, 2
			got, next := tt.node.Holds(remote)
			want := placement.Node{Able: tt.able, Holds: map[v1alpha1.ResourceRef]placement.Hold{"DNSZone/acts": placement.Acting, "DNSZone/stops": tt.stops}}
			if diff := cmp.Diff(want, got); diff != "" || next != tt.next {
				t.Errorf("next in %s, want %s; (-want +got):\n%s", next, tt.next, diff)
			}
		})
	}
}

func TestNews(t *testing.T) {
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
		if got := acting.News(tt.before, tt.now); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
