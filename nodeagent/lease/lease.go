// Package lease renews a node's Lease, by which the manager knows that the agent is alive.
package lease

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"
)

// Default is how long a Lease lasts until the API server has returned one. Shortest and longest bound
// the durations that the agent accepts from it.
const (
	Default  = time.Minute
	Shortest = 10 * time.Second
	longest  = time.Hour
)

// A Renewer renews the Lease, which the manager creates. The Lease itself says how long it lasts, and so
// how often to renew it.
type Renewer struct {
	Renew  func(ctx context.Context, now time.Time) (lasts time.Duration, err error)
	Clock  clock.Clock
	Random func() float64 // [0, 1); safe for concurrent use
	Log    *slog.Logger
}

// Run renews the Lease until ctx ends.
func (r *Renewer) Run(ctx context.Context) {
	lasts, failures := Default, 0
	for n := 0; ; n++ {
		timer := r.Clock.NewTimer(NextRenewal(lasts, n, failures, r.Random()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		renewed, err := r.Renew(ctx, r.Clock.Now())
		r.log(ctx, failures, err)
		if err != nil {
			failures++
			continue
		}
		lasts, failures = min(max(renewed, Shortest), longest), 0
	}
}

// log logs the first failure and the first success after failures.
func (r *Renewer) log(ctx context.Context, failures int, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && failures == 0:
		r.Log.Warn("cannot renew the Lease, retrying", "error", err)
	case err == nil && failures > 0:
		r.Log.Info("the Lease is renewed again", "failures", failures)
	}
}

// jitter is the relative variation of renewals, in both directions.
const jitter = 0.1

// NextRenewal returns how long to wait after n attempts, of which the last ones failed. Renewals come after two
// thirds of the Lease, so that there is time for one more attempt. The first attempt comes soon,
// because the node may be overdue, and the second at a random time, so that agents that start together do not
// stay in step. Agents that all fail, as while the API server is away, send little more than in normal
// operation, and all renew within one Lease duration when it is back.
func NextRenewal(lasts time.Duration, n, failures int, random float64) time.Duration {
	full := float64(lasts * 2 / 3)
	switch {
	case n == 0:
		return time.Duration(full / 4 * random)
	case failures == 1:
		return time.Duration(full / 4 * (0.5 + random))
	case failures > 1:
		return time.Duration(full * 2 / 3 * (0.5 + random))
	case n == 1:
		return time.Duration(full * random)
	}
	return time.Duration(full * (1 - jitter + 2*jitter*random))
}
