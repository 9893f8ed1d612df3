package heartbeat

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/utils/clock"
)

// WrapTransport notes requests that get no answer from the API server, see [Monitor.Unreachable].
func (m *Monitor) WrapTransport(next http.RoundTripper, clock clock.PassiveClock) http.RoundTripper {
	return transport{m, next, clock}
}

type transport struct {
	monitor *Monitor
	next    http.RoundTripper
	clock   clock.PassiveClock
}

// RoundTrip passes on a request. An error status is an answer: it may concern one object alone.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.monitor.Unreachable(t.clock.Now())
	}
	return answer, err
}
