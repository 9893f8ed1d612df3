package nodestate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate/nodestatetest"
)

func at(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }

func TestEachNodeIsInTheFirstStateThatApplies(t *testing.T) {
	t.Parallel()

	for _, c := range nodestatetest.Cases() {
		if got := nodestate.Of(c.NodeCatalog).State; got != c.State {
			t.Errorf("%s: got %s, want %s", c.Name, got, c.State)
		}
		if diff := cmp.Diff(c.Counts, nodestate.Resources(c.NodeCatalog)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
	}
}

func TestStatusExplainsTheState(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		nc   *v1alpha1.NodeCatalog
		want nodestate.Status
	}{
		"in sync": {nodestatetest.InSync(), nodestate.Status{State: nodestate.InSync}},
		"silent, and failed before": {
			nodestatetest.With(nodestatetest.Failed(), nodestatetest.Silent),
			nodestate.Status{State: nodestate.Silent, Reason: "Silent", Message: "no heartbeat from the node's agent for longer than its Lease lasts", Since: at(1)},
		},
		"held": {
			nodestatetest.With(nodestatetest.InSync(), nodestatetest.Held),
			nodestate.Status{State: nodestate.Held, Reason: "Held", Message: "the update is held: the node would lose File/a, File/b and 3 more", Since: at(2)},
		},
		"failed": {nodestatetest.Failed(), nodestate.Status{State: nodestate.Failed, Reason: "ResourcesFailed", Message: "because", Since: at(0)}},
		"behind, and failed before": {
			nodestatetest.With(nodestatetest.Failed(), nodestatetest.Behind),
			nodestate.Status{State: nodestate.Pending, Reason: "Applying", Message: "generation 4 is not applied yet", Since: at(0)},
		},
		"withheld, from an agent that does not report it": {
			nodestatetest.With(nodestatetest.InSync(), nodestatetest.Withheld),
			nodestate.Status{State: nodestate.Withheld, Reason: "Withheld", Message: "2 resources withheld", Since: at(0)},
		},
		"without a report": {
			&v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(5))}},
			nodestate.Status{State: nodestate.Pending, Reason: "Applying", Since: at(5)},
		},
	} {
		if diff := cmp.Diff(c.want, nodestate.Of(c.nc)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOfHeardIgnoresTheSilentAnnotation(t *testing.T) {
	t.Parallel()

	if got := nodestate.OfHeard(nodestatetest.With(nodestatetest.Failed(), nodestatetest.Silent)).State; got != nodestate.Failed {
		t.Errorf("got %s", got)
	}
}
