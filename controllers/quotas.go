package controllers

import (
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

// What one node's reports may cause at once and, after that, over time. A node that reports
// more often is heard less often: its last report counts, and no other node waits for it.
const (
	eventsAtOnce, eventEvery = 25, time.Minute
	passesAtOnce, passEvery  = 20, 5 * time.Second
)

// quotas bound what nodes cause by what they report. The zero value has seen none. Safe for
// concurrent use.
type quotas struct {
	mu     sync.Mutex
	byNode map[string]quota
}

type quota struct {
	events, passes flowcontrol.PassiveRateLimiter
}

func (q *quotas) of(node string, clock clock.PassiveClock) quota {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byNode == nil {
		q.byNode = map[string]quota{}
	}
	is, known := q.byNode[node]
	if !known {
		bucket := func(atOnce int, every time.Duration) flowcontrol.PassiveRateLimiter {
			return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/every.Seconds()), atOnce, clock)
		}
		is = quota{bucket(eventsAtOnce, eventEvery), bucket(passesAtOnce, passEvery)}
		q.byNode[node] = is
	}
	return is
}

func (q *quotas) forget(node string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.byNode, node)
}
