package controllers

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// A probe of the API server waits this long for an answer, and heartbeats are checked this often.
const probeTimeout, probePeriod = 5 * time.Second, 5 * time.Second

// silences checks heartbeats all the time. It is no part of a reconciliation, which an outage can
// keep busy until the outage is over, so that a probe would not notice it.
func (w *watcher) silences() source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go wait.UntilWithContext(ctx, func(ctx context.Context) {
			if w.checkHeartbeats(ctx) {
				w.invalidatePlacements()
				enqueue(q, limits.Debounce)
			}
		}, probePeriod)
		return nil
	})
}

// invalidatePlacements requests a compilation if the nodes that act for resources of Remote types may change.
func (w *watcher) invalidatePlacements() {
	if w.external.HasRemote() {
		w.schedule.invalidate()
	}
}

// checkHeartbeats finds the agents that are silent: see [Reconciler.CheckHeartbeats].
func (w *watcher) checkHeartbeats(ctx context.Context) (changed bool) {
	answered := w.probeAPIServer(ctx) == nil
	now := w.clock.Now()
	if answered {
		w.heartbeats.Reachable(now)
	} else {
		w.heartbeats.Unreachable(now)
	}
	if len(w.heartbeats.Overdue(now)) == 0 {
		return false
	}
	back, err := w.observeLeases(ctx, now)
	if err != nil {
		w.heartbeats.Unreachable(now)
		return false
	}
	overdue := w.heartbeats.Overdue(now)
	if len(overdue) == 0 {
		return back
	}
	const named = 10
	ctrl.LoggerFrom(ctx).Info("agents are silent", "nodes", len(overdue), "first", overdue[:min(len(overdue), named)])
	w.heartbeats.SetSilent(overdue)
	return true
}

// probeAPIServer makes a request that takes a working etcd.
func (w *watcher) probeAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return w.live.List(ctx, &corev1.NodeList{}, client.Limit(1))
}

// observeLeases reads the Leases from the API server, and reports whether a silent node is heard again: a watch that was interrupted
// may come back later than the agents, and would miss what they renew until then.
func (w *watcher) observeLeases(ctx context.Context, now time.Time) (back bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var list coordinationv1.LeaseList
	if err := w.live.List(ctx, &list, client.InNamespace(v1alpha1.AgentNamespace)); err != nil {
		return false, err
	}
	for i := range list.Items {
		if w.heartbeats.Observe(&list.Items[i], now) {
			back = true
		}
	}
	return back, nil
}
