package nodeagent

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// NextRenewal is when a Lease that lasts that long is renewed after n attempts, of which
// the last ones failed.
func NextRenewal(lasts time.Duration, n, failures int, random float64) time.Duration {
	return nextRenewal(lasts, n, failures, random)
}

// PlaceOf is a node's own place in a window.
func PlaceOf(node string, window time.Duration) time.Duration { return placeOf(node, window) }

// Watch watches a node's NodeCatalog, as an agent does, until ctx ends.
func Watch(ctx context.Context, cfg *rest.Config, node string) error {
	c, err := connect(cfg, node)
	if err != nil {
		return err
	}
	return c.watch(ctx, func(*v1alpha1.NodeCatalog) {})
}
