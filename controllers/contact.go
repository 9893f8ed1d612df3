package controllers

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Contact notes when the API server gave no answer, or none that helps. Nodes are not
// taken for silent because of that. Safe for concurrent use.
type Contact struct {
	Clock clock.PassiveClock

	mu       sync.Mutex
	answered time.Time // last
	last     outage
	away     bool // now
}

// An outage is when an API server may have been away: since its last answer, as who asks
// for nothing does not notice. The zero outage is none, and one that lasts ends now.
type outage struct{ since, until time.Time }

// together is within which time two outages are one.
const together = time.Minute

// patience is how long a request may wait without any answer coming, to it or another: the
// one that comes later says that the API server is back.
const patience = time.Second

// Wrap is for a [k8s.io/client-go/rest.Config].
func (c *Contact) Wrap(next http.RoundTripper) http.RoundTripper {
	return contactTripper{c, next}
}

type contactTripper struct {
	contact *Contact
	next    http.RoundTripper
}

// RoundTrip notes what comes of a request.
func (t contactTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := t.contact.Clock.Now()
	answer, err := t.next.RoundTrip(r)
	if !errors.Is(err, context.Canceled) {
		t.contact.note(asked, err == nil && answer.StatusCode < http.StatusInternalServerError)
	}
	return answer, err
}

func (c *Contact) note(asked time.Time, answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	waited := min(now.Sub(asked), now.Sub(c.answered))
	if !c.away && (waited > patience || !answered) {
		if now.Sub(c.last.until) > together {
			c.last.since = c.answered
		}
		c.away = true
	}
	if !answered {
		return
	}
	if c.away {
		c.last.until, c.away = now, false
	}
	c.answered = now
}

// isLost reports whether the last request had no answer.
func (c *Contact) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
}

// lost is the last outage.
func (c *Contact) lost() outage {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.last
	if c.away {
		o.until = c.Clock.Now()
	}
	return o
}

// callLimit is how long an answer to as good as nothing is waited for, and callEvery how
// often an API server that was away is asked whether it is back.
const callLimit, callEvery = 5 * time.Second, 5 * time.Second

// call asks the API server for as good as nothing.
func (r *Fleet) call(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return r.Live.List(ctx, metadataList("Node"), client.Limit(1))
}

// callAgain calls where the last answer failed to come, and returns when to do so again: a
// manager that has nothing else to ask would go on to excuse nodes.
func (r *Fleet) callAgain(ctx context.Context) time.Duration {
	if r.Contact != nil && r.Contact.isLost() && r.call(ctx) != nil {
		return callEvery
	}
	return 0
}

// doubtSilence calls where nodes have fallen silent. An API server whose etcd hangs breaks
// no watch: to a manager that asks for nothing, it is the nodes that say nothing.
func (r *Fleet) doubtSilence(ctx context.Context) {
	if fell, _ := r.leases.turned(r.Clock.Now()); r.Contact != nil && len(fell) > 0 {
		_ = r.call(ctx) // Contact notes what comes of it
	}
}
