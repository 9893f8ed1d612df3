package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// A probe of the API server waits this long for an answer, and is repeated this often until one
// comes.
const probeTimeout, probePeriod = 5 * time.Second, 5 * time.Second

// watchHeartbeats finds the agents that are silent. While the API server does not answer, none
// becomes silent: it may be what keeps agents from renewing their Leases, and one whose etcd
// hangs breaks no watch.
func (r *Fleet) watchHeartbeats(ctx context.Context, _ *snapshot) (time.Duration, error) {
	if r.unreachable || len(r.Heartbeats.Overdue(r.Clock.Now())) > 0 {
		was := r.unreachable
		if r.unreachable = r.probeAPIServer(ctx) != nil; r.unreachable || was {
			r.Heartbeats.Unreachable(r.Clock.Now())
		}
	}
	if r.unreachable {
		return probePeriod, nil
	}
	now := r.Clock.Now()
	if silent := r.Heartbeats.Overdue(now); len(silent) > 0 {
		const named = 10
		ctrl.LoggerFrom(ctx).Info("agents are silent", "nodes", len(silent), "first", silent[:min(len(silent), named)])
		r.Heartbeats.SetSilent(silent)
	}
	return r.Heartbeats.Next(now), nil
}

// probeAPIServer makes a request that takes a working etcd.
func (r *Fleet) probeAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return r.Live.List(ctx, nodeMetadata(), client.Limit(1))
}

// maxLeases is the number of Leases that one reconciliation writes: those of a large fleet must
// not delay a change.
const maxLeases = 10 * writers

// reconcileLeases gives every node its Lease, and returns when there is more to do.
func (r *Fleet) reconcileLeases(ctx context.Context, s *snapshot) (time.Duration, error) {
	duration := r.LeaseDuration
	if duration == 0 {
		duration = heartbeat.DefaultLeaseDuration
	}
	uids := make(map[string]types.UID, len(s.nodes))
	for name, o := range s.nodes {
		uids[name] = o.UID
	}
	missing, outdated := r.Heartbeats.Needed(uids, duration)
	all := slices.Concat(missing, outdated)
	now := all[:min(len(all), maxLeases)]
	errs := each(len(now), func(i int) error {
		if i < len(missing) {
			return r.createLease(ctx, s.nodes[now[i]], duration)
		}
		return r.setLeaseDuration(ctx, now[i], duration)
	})
	if len(now) < len(all) {
		return limits.Debounce, errors.Join(errs...)
	}
	return 0, errors.Join(errs...)
}

func (r *Fleet) createLease(ctx context.Context, node *metav1.PartialObjectMetadata, duration time.Duration) error {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: node.Name, OwnerReferences: nodeAsOwner(node)},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(duration / time.Second))},
	}
	err := r.Client.Create(ctx, lease)
	if client.IgnoreAlreadyExists(err) != nil { // the cache is behind
		return fmt.Errorf("cannot create Lease %s of namespace %s: %w", node.Name, v1alpha1.AgentNamespace, err)
	}
	if err == nil {
		r.Heartbeats.Observe(lease, r.Clock.Now())
	}
	return nil
}

func (r *Fleet) setLeaseDuration(ctx context.Context, node string, duration time.Duration) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"leaseDurationSeconds": int32(duration / time.Second)}})
	if err != nil {
		return fmt.Errorf("cannot encode Lease %s: %w", node, err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: node}}
	if err := r.Client.Patch(ctx, lease, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot patch Lease %s of namespace %s: %w", node, v1alpha1.AgentNamespace, err)
	}
	return nil
}
