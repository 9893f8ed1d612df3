package controllers

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/acting"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// maxRetry is the longest backoff after failures: what fails for one node must not delay the
// others.
const maxRetry = 30 * time.Second

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// SetupWithManager watches everything that a reconciliation reads. The informers start when this
// manager is elected, with a list that is at least as new as all that the manager before wrote, and
// the first reconciliation begins when every cache is synced: an object that a cache lacks would
// look deleted.
func (r *Fleet) SetupWithManager(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("fleet").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](limits.Debounce, maxRetry),
		}).
		WatchesMetadata(&corev1.Node{}, always(r.enqueueCompile), builder.WithPredicates(labelsOrAnnotations())).
		WatchesMetadata(&corev1.ConfigMap{}, always(r.enqueueCompile), builder.WithPredicates(predicate.NewPredicateFuncs(r.sources.UsesConfigMap))).
		Watches(&corev1.Secret{}, always(r.enqueueCompile), builder.WithPredicates(predicate.NewPredicateFuncs(r.sources.UsesSecret))).
		Watches(&v1alpha1.Catalog{}, always(r.enqueueCompile), builder.WithPredicates(onlyDeletion())).
		Watches(&v1alpha1.Fleet{}, always(r.enqueueBatch), builder.WithPredicates(byPeople())).
		Watches(&v1alpha1.NodeCatalog{}, r.nodeCatalogEvents()).
		Watches(&coordinationv1.Lease{}, r.leaseEvents()).
		WatchesRawSource(r.heartbeats())
	for _, kind := range v1alpha1.Resources() {
		b = b.Watches(kind, r.resourceEvents())
	}
	b = b.Watches(&v1alpha1.ExternalType{}, always(r.enqueueBatch), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(externalkinds.DefinitionMetadata(), always(r.enqueueBatch), builder.WithPredicates(predicate.NewPredicateFuncs(externalkinds.IsDefinition)))
	c, err := b.Build(r)
	if err != nil {
		return fmt.Errorf("cannot set up the controller: %w", err)
	}
	r.external.Cached = mgr.GetCache()
	r.external.Watches = &externalkinds.Watches{Controller: c, Cache: mgr.GetCache(), Handler: r.resourceEvents(), Synced: r.enqueueCompile}
	return nil
}

// resourceEvents ignores changes of a resource's status and of metadata that are not ours.
func (r *Fleet) resourceEvents() handler.EventHandler {
	h := always(r.enqueueBatch)
	h.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q queue) {
		before, now := e.ObjectOld, e.ObjectNew
		annotated := func(key string) bool { return before.GetAnnotations()[key] != now.GetAnnotations()[key] }
		switch {
		case before.GetUID() != now.GetUID(), before.GetGeneration() != now.GetGeneration():
			r.enqueueBatch(q)
		case annotated(v1alpha1.AnnotationAbandonCleanup),
			controllerutil.ContainsFinalizer(before, v1alpha1.FinalizerCleanup) != controllerutil.ContainsFinalizer(now, v1alpha1.FinalizerCleanup):
			enqueue(q, limits.Debounce)
		}
	}
	return h
}

// always handles every event in the same way.
func always(handle func(queue)) handler.Funcs {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { handle(q) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { handle(q) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { handle(q) },
	}
}

// enqueueBatch is for changes by people, of which more may follow.
func (r *Fleet) enqueueBatch(q queue) {
	r.NoteEdit()
	enqueue(q, limits.Debounce)
}

func (r *Fleet) enqueueCompile(q queue) {
	r.Invalidate()
	enqueue(q, limits.Debounce)
}

func enqueue(q queue, after time.Duration) {
	q.AddAfter(ctrl.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}, after)
}

func (r *Fleet) nodeCatalogEvents() handler.EventHandler {
	h := always(r.enqueueCompile)
	h.DeleteFunc = func(_ context.Context, e event.DeleteEvent, q queue) {
		r.quotas.Forget(e.Object.GetName())
		r.Traces.Forget(e.Object.GetName())
		r.enqueueCompile(q)
	}
	h.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q queue) {
		r.onNodeReport(e.ObjectOld.(*v1alpha1.NodeCatalog), e.ObjectNew.(*v1alpha1.NodeCatalog), q)
	}
	return h
}

// onNodeReport enqueues what a change of a NodeCatalog makes necessary, and records events about
// what happened on the node, within the node's quota.
func (r *Fleet) onNodeReport(before, now *v1alpha1.NodeCatalog, q queue) {
	quota := r.quotas.Of(now.Name, r.Clock)
	r.recordEvents(before, now, quota)
	if r.Traces.IsRun(before.Status, now.Status) && quota.Spans.TryAccept() {
		r.Traces.Run(now.Name, before.Status, now.Status)
	}
	switch {
	case before.Generation != now.Generation: // not the node's doing
		r.enqueueCompile(q)
	case reflect.DeepEqual(before.Status, now.Status):
	default:
		if before.Status.PublicKey != now.Status.PublicKey || !reflect.DeepEqual(before.Status.Facts, now.Status.Facts) {
			r.Invalidate()
		}
		if acting.PlacementChanged(before, now) {
			r.notePlacements()
		}
		after := limits.Debounce
		if !quota.Reconciles.TryAccept() {
			after = limits.ReconcilePeriod
		}
		enqueue(q, after)
	}
}

func (r *Fleet) recordEvents(before, now *v1alpha1.NodeCatalog, quota limits.NodeQuota) {
	for _, e := range conditions.NodeEvents(before.Status, now.Status) {
		if ref, ok := e.Drift(); ok && e.Reason == v1alpha1.EventDriftDetected {
			r.detected.Note(ref, now.Name)
		} else if ok {
			r.corrected.Note(ref, now.Name)
		}
		if quota.Events.TryAccept() {
			conditions.Record(r.Recorder, now, e)
		} else {
			r.Metrics.droppedEvents.Inc()
		}
	}
}

// leaseEvents enqueues nothing for a renewal, unless the node was silent.
func (r *Fleet) leaseEvents() handler.EventHandler {
	observe := func(o client.Object, q queue) {
		if lease, ok := o.(*coordinationv1.Lease); ok && r.Heartbeats.Observe(lease, r.Clock.Now()) {
			r.notePlacements()
			enqueue(q, limits.Debounce)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { observe(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { observe(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.Heartbeats.Forget(e.Object.GetName())
			enqueue(q, limits.Debounce)
		},
	}
}

// labelsOrAnnotations passes the changes of a Node that selectors and expressions can see. Its
// heartbeats are not among them.
func labelsOrAnnotations() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	}}
}

// byPeople passes the changes of the Fleet that this manager did not make.
func byPeople() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		const key = v1alpha1.AnnotationConfirmDeselection
		return e.ObjectOld.GetAnnotations()[key] != e.ObjectNew.GetAnnotations()[key]
	}})
}

// onlyDeletion passes what can happen to a Catalog that this manager did not do.
func onlyDeletion() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}
