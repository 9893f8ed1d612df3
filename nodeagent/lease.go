package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// defaultLease is how long a Lease lasts until it has been seen, and bounds are what of
// it is believed.
const (
	defaultLease  = time.Minute
	shortestLease = 10 * time.Second
	longestLease  = time.Hour
)

// A sign is how the cluster knows that the agent is there: the node's Lease, which the
// manager makes. How long that lasts, and so how often it is renewed, the Lease says.
type sign struct {
	renew  func(ctx context.Context, now time.Time) (lasts time.Duration, err error)
	clock  clock.Clock
	random func() float64 // [0, 1); safe for concurrent use
	log    *slog.Logger
}

// run renews the Lease until ctx ends, whatever else the agent is doing.
func (s *sign) run(ctx context.Context) {
	lasts, failures := defaultLease, 0
	for n := 0; ; n++ {
		timer := s.clock.NewTimer(nextRenewal(lasts, n, failures, s.random()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		told, err := s.renew(ctx, s.clock.Now())
		s.say(ctx, failures, err)
		if err != nil {
			failures++
			continue
		}
		lasts, failures = min(max(told, shortestLease), longestLease), 0
	}
}

// say tells when renewals begin to fail, and when they no longer do.
func (s *sign) say(ctx context.Context, failures int, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && failures == 0:
		s.log.Warn("cannot renew the Lease, it will be tried again", "error", err)
	case err == nil && failures > 0:
		s.log.Info("the Lease is renewed again", "failures", failures)
	}
}

// renewal is when a Lease is renewed: when two thirds of it are over.
func renewal(lasts time.Duration) time.Duration { return lasts * 2 / 3 }

// nextRenewal is how long to wait after n attempts, of which the last ones failed. The
// first comes soon, as the node may be missed already, and the second at any time, so
// that agents that start together do not stay together. Then there is room, before the
// Lease is over, to try once more. Agents that all fail, as when the API server is away,
// ask little more of it than when all is well, and each again, when it is back, within
// the time that a Lease lasts.
func nextRenewal(lasts time.Duration, n, failures int, random float64) time.Duration {
	full := float64(renewal(lasts))
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

// renewLease writes when the agent was there, and returns how long that is good for.
func (c *cluster) renewLease(ctx context.Context, now time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, shortestLease)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"holderIdentity": c.node, "renewTime": metav1.NewMicroTime(now)}})
	if err != nil {
		return 0, fmt.Errorf("cannot encode the Lease: %w", err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: c.node}}
	if err := c.client.Patch(ctx, lease, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldOwner)); err != nil {
		return 0, err
	}
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		return time.Duration(*s) * time.Second, nil
	}
	return defaultLease, nil
}
