package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// A probe of the API server waits this long for an answer, and heartbeats are checked this often.
const probeTimeout, probePeriod = 5 * time.Second, 5 * time.Second

// heartbeats checks heartbeats all the time. It is no part of a reconciliation, which an outage can
// keep busy until the outage is over, so that a probe would not notice it.
func (r *Fleet) heartbeats() source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go wait.UntilWithContext(ctx, func(ctx context.Context) {
			if r.CheckHeartbeats(ctx) {
				r.notePlacements()
				enqueue(q, limits.Debounce)
			}
		}, probePeriod)
		return nil
	})
}

// notePlacements has the next reconciliation compile if the nodes that act for resources of Remote types may be others.
func (r *Fleet) notePlacements() {
	if r.remote.Load() {
		r.Invalidate()
	}
}

// CheckHeartbeats finds the agents that are silent, and reports whether there are more than before.
// While the API server does not answer, and for one lease duration after that, none becomes silent: it
// may be what keeps agents from renewing their Leases, and one whose etcd hangs breaks no watch. It is
// not safe for concurrent use.
func (r *Fleet) CheckHeartbeats(ctx context.Context) (silent bool) {
	was := r.unreachable
	r.unreachable = r.probeAPIServer(ctx) != nil
	now := r.Clock.Now()
	if r.unreachable || was {
		r.Heartbeats.Unreachable(now)
	}
	overdue := r.Heartbeats.Overdue(now)
	if len(overdue) == 0 {
		return false
	}
	const named = 10
	ctrl.LoggerFrom(ctx).Info("agents are silent", "nodes", len(overdue), "first", overdue[:min(len(overdue), named)])
	r.Heartbeats.SetSilent(overdue)
	return true
}

// markSilentNodes marks the NodeCatalogs of nodes that have become silent, and those of nodes that are
// heard again, so that kubectl shows since when a node is silent. A heartbeat writes nothing.
func (r *Fleet) markSilentNodes(ctx context.Context, s *snapshot) (time.Duration, error) {
	marks := map[string]string{}
	for name, nc := range s.nodeCatalogs {
		is := nc.Annotations[v1alpha1.AnnotationSilentSince]
		if want := r.Heartbeats.SilentSince(name, is); want != is {
			marks[name] = want
		}
	}
	return eachPortion(slices.Sorted(maps.Keys(marks)), func(node string) error { return r.markSilent(ctx, node, marks[node]) })
}

// markSilent sets the annotation of a NodeCatalog, or removes it for "".
func (r *Fleet) markSilent(ctx context.Context, node, since string) error {
	annotations := map[string]any{v1alpha1.AnnotationSilentSince: since}
	if since == "" {
		annotations[v1alpha1.AnnotationSilentSince] = nil
	}
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}}
	err := r.Client.Patch(ctx, nc, mergePatch{"metadata": map[string]any{"annotations": annotations}})
	return wrap(client.IgnoreNotFound(err), "cannot mark NodeCatalog "+node)
}

// probeAPIServer makes a request that takes a working etcd.
func (r *Fleet) probeAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return r.Live.List(ctx, nodeMetadata(), client.Limit(1))
}

// maxPortion is the number of nodes whose Lease or mark one reconciliation writes: those of a large fleet
// must not delay a change.
const maxPortion = 10 * writers

// eachPortion calls do for the first nodes, and returns when to come back for the others.
func eachPortion(nodes []string, do func(node string) error) (time.Duration, error) {
	errs := each(min(len(nodes), maxPortion), func(i int) error { return do(nodes[i]) })
	if len(errs) < len(nodes) {
		return limits.Debounce, errors.Join(errs...)
	}
	return 0, errors.Join(errs...)
}

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
	return eachPortion(slices.Concat(missing, outdated), func(node string) error {
		if slices.Contains(outdated, node) {
			return r.setLeaseDuration(ctx, node, duration)
		}
		return r.createLease(ctx, s.nodes[node], duration)
	})
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
	patch := mergePatch{"spec": map[string]any{"leaseDurationSeconds": int32(duration / time.Second)}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: node}}
	err := r.Client.Patch(ctx, lease, patch)
	return wrap(client.IgnoreNotFound(err), fmt.Sprintf("cannot patch Lease %s of namespace %s", node, v1alpha1.AgentNamespace))
}
