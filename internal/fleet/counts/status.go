package counts

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

const (
	recent   = 24 * time.Hour // the age of drift that counts
	maxHours = 168
)

// Status returns the status of the Fleet that follows before. It is before itself if nothing has changed.
func (c *Counts) Status(records *drift.Records, before v1alpha1.FleetStatus, now time.Time) v1alpha1.FleetStatus {
	sum := records.Since(now.Add(-recent))
	next := v1alpha1.FleetStatus{
		Updated:   before.Updated,
		Nodes:     c.nodes(),
		Resources: c.resources(), Deselection: c.Deselection,
		Drift: v1alpha1.FleetDrift{Resources: int32(sum.Resources), Nodes: int32(len(sum.Nodes)), Count: sum.Count, Uncorrected: int32(sum.Uncorrected)},
	}
	hour := now.UTC().Truncate(time.Hour)
	next.History = append(next.History, c.hour(hour, records.Since(hour).Nodes))
	for _, h := range before.History {
		if h.Hour.Time.Before(hour) && hour.Sub(h.Hour.Time) < maxHours*time.Hour && len(next.History) < maxHours {
			next.History = append(next.History, h)
		}
	}
	if equality.Semantic.DeepEqual(before, next) {
		return before
	}
	next.Updated = &metav1.Time{Time: now.UTC().Truncate(time.Second)}
	return next
}

func (c *Counts) nodes() v1alpha1.FleetNodes {
	n := func(state nodestate.State) int32 { return int32(c.Nodes[state]) }
	return v1alpha1.FleetNodes{
		Total: int32(len(c.states)), InSync: n(nodestate.InSync), Pending: n(nodestate.Pending), Held: n(nodestate.Held), OutOfSync: n(nodestate.OutOfSync),
		Failed: n(nodestate.Failed), Withheld: n(nodestate.Withheld), Disabled: n(nodestate.Disabled), Silent: n(nodestate.Silent),
		Waiting: int32(c.Waiting),
	}
}

func (c *Counts) resources() (r v1alpha1.FleetResources) {
	for labels, n := range c.Resources {
		r.Total += int32(n)
		switch labels[1] {
		case v1alpha1.ConditionReady:
			r.Ready += int32(n)
		case v1alpha1.ConditionReconciling:
			r.Reconciling += int32(n)
		case v1alpha1.ConditionStalled:
			r.Stalled += int32(n)
		default:
			r.NotReady += int32(n)
		}
	}
	return r
}

// hour describes the nodes in an hour in which some drifted.
func (c *Counts) hour(hour time.Time, drifted map[string]bool) v1alpha1.FleetHour {
	h := v1alpha1.FleetHour{Hour: metav1.NewTime(hour)}
	for node, state := range c.states {
		switch state {
		case nodestate.Failed, nodestate.Withheld:
			h.Failed++
		case nodestate.OutOfSync:
			h.Drifting++
		case nodestate.InSync:
			if drifted[node] {
				h.Drifting++
			} else {
				h.InSync++
			}
		case nodestate.Silent, nodestate.Disabled, nodestate.Held, nodestate.Pending:
			h.Unknown++
		}
	}
	return h
}
