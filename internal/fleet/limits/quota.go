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
	reconcileBurst          = 20
	// ReconcilePeriod is the time between two reconciliations for one node after the burst.
	ReconcilePeriod = 5 * time.Second
)

// NodeQuotas limit what each node causes by its reports.
type NodeQuotas struct {
	mu     sync.Mutex
	byNode map[string]NodeQuota
}

// A NodeQuota limits what one node causes.
type NodeQuota struct {
	Events, Reconciles flowcontrol.PassiveRateLimiter
}

// Of returns the quota of a node.
func (q *NodeQuotas) Of(node string, clock clock.PassiveClock) NodeQuota {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byNode == nil {
		q.byNode = map[string]NodeQuota{}
	}
	quota, known := q.byNode[node]
	if !known {
		limiter := func(burst int, period time.Duration) flowcontrol.PassiveRateLimiter {
			return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/period.Seconds()), burst, clock)
		}
		quota = NodeQuota{limiter(eventBurst, eventPeriod), limiter(reconcileBurst, ReconcilePeriod)}
		q.byNode[node] = quota
	}
	return quota
}

// Forget removes a node.
func (q *NodeQuotas) Forget(node string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.byNode, node)
}
