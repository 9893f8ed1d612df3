package controllers

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
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
	answer, err := t.next.RoundTrip(r)
	if !errors.Is(err, context.Canceled) {
		t.contact.note(err == nil && answer.StatusCode < http.StatusInternalServerError)
	}
	return answer, err
}

func (c *Contact) note(answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Clock.Now()
	if answered {
		if c.away {
			c.last.until, c.away = now, false
		}
		c.answered = now
		return
	}
	if !c.away && now.Sub(c.last.until) > together {
		c.last.since = c.answered
	}
	c.away = true
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
