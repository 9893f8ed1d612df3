package heartbeat

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/utils/clock"
)

// WrapTransport notes requests that get no answer from the API server, see [Monitor.Unreachable]. An
// error status is an answer: it may concern one object alone.
func (m *Monitor) WrapTransport(next http.RoundTripper, clock clock.PassiveClock) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if err != nil && !errors.Is(err, context.Canceled) {
			m.Unreachable(clock.Now())
		}
		return answer, err
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
