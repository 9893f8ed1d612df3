package limits

import (
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

// What one node's reports may cause: a burst, and then one in a period. Of a node that reports
// more often the last report counts, and no other node waits for it.
const (
	eventBurst, eventPeriod = 25, time.Minute
	spanBurst, spanPeriod   = 20, 5 * time.Second
	reconcileBurst          = 20
	// ReconcilePeriod is the time between two reconciliations for one node after the burst.
	ReconcilePeriod = 5 * time.Second
)

// NodeQuotas limit what each node causes by its reports.
type NodeQuotas struct{ byNode sync.Map } // of NodeQuota

// A NodeQuota limits what one node causes.
type NodeQuota struct {
	Events, Reconciles, Spans flowcontrol.PassiveRateLimiter
}

// Of returns the quota of a node.
func (q *NodeQuotas) Of(node string, clock clock.PassiveClock) NodeQuota {
	if quota, known := q.byNode.Load(node); known {
		return quota.(NodeQuota)
	}
	limiter := func(burst int, period time.Duration) flowcontrol.PassiveRateLimiter {
		return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/period.Seconds()), burst, clock)
	}
	quota, _ := q.byNode.LoadOrStore(node, NodeQuota{limiter(eventBurst, eventPeriod), limiter(reconcileBurst, ReconcilePeriod), limiter(spanBurst, spanPeriod)})
	return quota.(NodeQuota)
}

// Forget removes a node.
func (q *NodeQuotas) Forget(node string) { q.byNode.Delete(node) }
