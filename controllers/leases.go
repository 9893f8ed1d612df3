package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// leases gives nodes the Leases that their agents renew, and marks the NodeCatalogs of silent nodes.
type leases struct {
	client     client.Client
	clock      clock.PassiveClock
	heartbeats *heartbeat.Monitor
	duration   time.Duration
}

// maxPortion is the number of nodes whose Lease or mark one reconciliation writes: writing all of a large fleet
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

// reconcile gives every node its Lease, and returns when there is more to do.
func (l *leases) reconcile(ctx context.Context, s *snapshot) (time.Duration, error) {
	uids := make(map[string]types.UID, len(s.nodes))
	for name, o := range s.nodes {
		uids[name] = o.UID
	}
	missing, outdated := l.heartbeats.Needed(uids, l.duration)
	return eachPortion(slices.Concat(missing, outdated), func(node string) error {
		if slices.Contains(outdated, node) {
			return l.setDuration(ctx, node)
		}
		return l.create(ctx, s.nodes[node])
	})
}

func (l *leases) create(ctx context.Context, node *corev1.Node) error {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: node.Name, OwnerReferences: nodeAsOwner(node)},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(l.duration / time.Second))},
	}
	err := l.client.Create(ctx, lease)
	if client.IgnoreAlreadyExists(err) != nil { // the cache is behind
		return fmt.Errorf("cannot create Lease %s of namespace %s: %w", node.Name, v1alpha1.AgentNamespace, err)
	}
	if err == nil {
		l.heartbeats.Observe(lease, l.clock.Now())
	}
	return nil
}

func (l *leases) setDuration(ctx context.Context, node string) error {
	patch := mergePatch{"spec": map[string]any{"leaseDurationSeconds": int32(l.duration / time.Second)}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: node}}
	err := l.client.Patch(ctx, lease, patch)
	return wrap(client.IgnoreNotFound(err), fmt.Sprintf("cannot patch Lease %s of namespace %s", node, v1alpha1.AgentNamespace))
}

// markSilent marks the NodeCatalogs of nodes that have become silent, and unmarks nodes that are
// heard again, so that kubectl shows since when a node is silent. A heartbeat writes nothing.
func (l *leases) markSilent(ctx context.Context, nodeCatalogs map[string]*v1alpha1.NodeCatalog) (time.Duration, error) {
	marks := map[string]string{}
	for name, nc := range nodeCatalogs {
		is := nc.Annotations[v1alpha1.AnnotationSilentSince]
		if want := l.heartbeats.SilentSince(name, is); want != is {
			marks[name] = want
		}
	}
	return eachPortion(slices.Sorted(maps.Keys(marks)), func(node string) error { return l.annotate(ctx, node, marks[node]) })
}

// annotate sets the annotation of a NodeCatalog, or removes it for "".
func (l *leases) annotate(ctx context.Context, node, since string) error {
	annotations := map[string]any{v1alpha1.AnnotationSilentSince: since}
	if since == "" {
		annotations[v1alpha1.AnnotationSilentSince] = nil
	}
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}}
	err := l.client.Patch(ctx, nc, mergePatch{"metadata": map[string]any{"annotations": annotations}})
	return wrap(client.IgnoreNotFound(err), "cannot mark NodeCatalog "+node)
}
