package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// finalizers adds the finalizer to resources whose deletion leaves nodes something to do, and removes
// it from others. Hosts are safe without it: it only makes `kubectl delete` wait.
type finalizers struct {
	client             client.Client
	protectPermissions func(ctx context.Context, needed bool) error // nil if nothing is to be protected
}

// conflictRetry is when to retry after someone else changed a resource at the same time. As a rule
// the cache hears of that and causes another reconciliation.
const conflictRetry = time.Second

// reconcile adds finalizers, and removes the finalizers of deletions that are done.
func (f *finalizers) reconcile(ctx context.Context, sc *scope, all deletions) (time.Duration, error) {
	if err := f.protect(ctx, sc); err != nil {
		return 0, err
	}
	changes, next := planFinalizers(sc.live, all)
	errs := each(len(changes), func(i int) error { return f.toggle(ctx, changes[i]) })
	for i, err := range errs {
		if apierrors.IsConflict(err) {
			errs[i] = nil
			next.Add(conflictRetry)
		}
	}
	return time.Duration(next), errors.Join(errs...)
}

// planFinalizers returns the resources that are to have the finalizer, and those that are not to have it any more, and when to look
// again at deletions that wait.
func planFinalizers(live map[v1alpha1.ResourceRef]v1alpha1.Resource, all deletions) (changes []v1alpha1.Resource, next limits.Wait) {
	for _, o := range live {
		if o.GetTargeting().DeletionPolicy.Acts() != controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) {
			changes = append(changes, o)
		}
	}
	for o, w := range all {
		if w.Done() {
			changes = append(changes, o)
		} else {
			next.Add(definitionsPeriod)
		}
	}
	return changes, next
}

// protect has the manager's own permissions outlast the finalizers of resources.
func (f *finalizers) protect(ctx context.Context, sc *scope) error {
	if f.protectPermissions == nil {
		return nil
	}
	needed := slices.ContainsFunc(slices.AppendSeq(slices.Clone(sc.deleting), maps.Values(sc.live)), func(o v1alpha1.Resource) bool {
		return controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) || o.GetDeletionTimestamp() == nil && o.GetTargeting().DeletionPolicy.Acts()
	})
	if !needed && sc.uninstall.inProgress() {
		return nil // the manager may be next
	}
	return f.protectPermissions(ctx, needed)
}

func (f *finalizers) toggle(ctx context.Context, o v1alpha1.Resource) error {
	before, next := patchable(o), patchable(o)
	if !controllerutil.RemoveFinalizer(next, v1alpha1.FinalizerCleanup) {
		controllerutil.AddFinalizer(next, v1alpha1.FinalizerCleanup)
	}
	// Only if nobody changed the resource since: the finalizers of others must not be lost.
	err := f.client.Patch(ctx, next, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return wrap(client.IgnoreNotFound(err), "cannot change finalizers of "+string(v1alpha1.RefOf(o)))
}
