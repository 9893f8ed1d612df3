package controllers

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
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
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
)

// maxRetry is the longest backoff after failures: what fails for one node must not delay the
// others.
const maxRetry = 30 * time.Second

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// A watcher turns what happens in the cluster into reconciliations, and records what happens on nodes. It is safe for concurrent use,
// but for one check of heartbeats at a time.
type watcher struct {
	clock    clock.PassiveClock
	recorder events.EventRecorder
	metrics  *Metrics
	traces   *traces.Recorder
	live     client.Reader // for probes

	schedule   *schedule
	heartbeats *heartbeat.Monitor
	drift      *driftEvents
	external   *externalkinds.Kinds
	quotas     limits.NodeQuotas
}

// SetupWithManager watches everything that a reconciliation reads. The informers start when this
// manager is elected, with a list that is at least as new as all that the manager before wrote, and
// the first reconciliation begins when every cache is synced: an object that a cache lacks would
// look deleted.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	w, sources := &r.watcher, r.compiler.sources
	b := ctrl.NewControllerManagedBy(mgr).
		Named("fleet").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](limits.Debounce, maxRetry),
		}).
		Watches(&corev1.Node{}, w.nodeEvents()).
		WatchesMetadata(&corev1.ConfigMap{}, always(w.enqueueCompile), builder.WithPredicates(predicate.NewPredicateFuncs(sources.UsesConfigMap))).
		Watches(&corev1.Secret{}, always(w.enqueueCompile), builder.WithPredicates(predicate.NewPredicateFuncs(sources.UsesSecret))).
		Watches(&v1alpha1.Catalog{}, always(w.enqueueCompile), builder.WithPredicates(onlyDeletion())).
		Watches(&v1alpha1.Fleet{}, always(w.enqueueBatch), builder.WithPredicates(byPeople())).
		Watches(&v1alpha1.RolloutPolicy{}, always(w.enqueueCompile), builder.WithPredicates(policyByOthers())).
		Watches(&v1alpha1.CatalogRevision{}, always(w.enqueueCompile), builder.WithPredicates(onlyDeletion())).
		Watches(&v1alpha1.NodeCatalog{}, w.nodeCatalogEvents()).
		Watches(&coordinationv1.Lease{}, w.leaseEvents()).
		WatchesRawSource(w.silences())
	for _, kind := range v1alpha1.Resources() {
		b = b.Watches(kind, w.resourceEvents())
	}
	b = b.Watches(&v1alpha1.ExternalType{}, always(w.enqueueBatch), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(externalkinds.DefinitionMetadata(), always(w.enqueueBatch), builder.WithPredicates(predicate.NewPredicateFuncs(externalkinds.IsDefinition)))
	c, err := b.Build(r)
	if err != nil {
		return fmt.Errorf("cannot set up the controller: %w", err)
	}
	w.external.Watch(&externalkinds.Watches{Controller: c, Cache: mgr.GetCache(), Handler: w.resourceEvents(), Synced: w.enqueueCompile})
	return nil
}

// resourceEvents ignores changes of a resource's status and of metadata that are not ours.
func (w *watcher) resourceEvents() handler.EventHandler {
	h := always(w.enqueueBatch)
	h.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q queue) {
		before, now := e.ObjectOld, e.ObjectNew
		annotated := func(key string) bool { return before.GetAnnotations()[key] != now.GetAnnotations()[key] }
		switch {
		case before.GetUID() != now.GetUID(), before.GetGeneration() != now.GetGeneration():
			w.enqueueBatch(q)
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

// enqueueBatch handles changes by people, which may be one of several.
func (w *watcher) enqueueBatch(q queue) {
	w.schedule.recordEdit(w.clock.Now())
	enqueue(q, limits.Debounce)
}

func (w *watcher) enqueueCompile(q queue) {
	w.schedule.invalidate()
	enqueue(q, limits.Debounce)
}

func enqueue(q queue, after time.Duration) {
	q.AddAfter(ctrl.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}, after)
}

func (w *watcher) nodeCatalogEvents() handler.EventHandler {
	h := always(w.enqueueCompile)
	h.DeleteFunc = func(_ context.Context, e event.DeleteEvent, q queue) {
		w.quotas.Forget(e.Object.GetName())
		w.traces.Forget(e.Object.GetName())
		w.enqueueCompile(q)
	}
	h.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q queue) {
		w.onNodeReport(e.ObjectOld.(*v1alpha1.NodeCatalog), e.ObjectNew.(*v1alpha1.NodeCatalog), q)
	}
	return h
}

// onNodeReport enqueues what a change of a NodeCatalog makes necessary, and records events about
// what happened on the node, within the node's quota.
func (w *watcher) onNodeReport(before, now *v1alpha1.NodeCatalog, q queue) {
	quota := w.quotas.Of(now.Name, w.clock)
	w.recordEvents(before, now, quota)
	if w.traces.IsRun(before.Status, now.Status) && quota.Spans.TryAccept() {
		w.traces.Run(now.Name, before.Status, now.Status)
	}
	switch {
	case before.Generation != now.Generation: // not the node's doing
		w.enqueueCompile(q)
	case reflect.DeepEqual(before.Status, now.Status):
	default:
		if before.Status.PublicKey != now.Status.PublicKey || !reflect.DeepEqual(before.Status.Facts, now.Status.Facts) {
			w.schedule.invalidate()
		}
		if acting.PlacementChanged(before, now) {
			w.invalidatePlacements()
		}
		after := limits.Debounce
		if !quota.Reconciles.TryAccept() {
			after = limits.ReconcilePeriod
		}
		enqueue(q, after)
	}
}

func (w *watcher) recordEvents(before, now *v1alpha1.NodeCatalog, quota limits.NodeQuota) {
	for _, e := range conditions.NodeEvents(before.Status, now.Status) {
		w.drift.add(e, now.Name)
		if quota.Events.TryAccept() {
			conditions.Record(w.recorder, now, e)
		} else {
			w.metrics.droppedEvents.Inc()
		}
	}
}

// leaseEvents enqueues nothing for a renewal, unless the node was silent.
func (w *watcher) leaseEvents() handler.EventHandler {
	observe := func(o client.Object, q queue) {
		if lease, ok := o.(*coordinationv1.Lease); ok && w.heartbeats.Observe(lease, w.clock.Now()) {
			w.invalidatePlacements()
			enqueue(q, limits.Debounce)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { observe(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { observe(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			w.heartbeats.Forget(e.Object.GetName())
			enqueue(q, limits.Debounce)
		},
	}
}

// nodeEvents compiles when selectors and expressions see another Node, and reconciles when a rollout does. The heartbeats of a Node are
// neither.
func (w *watcher) nodeEvents() handler.EventHandler {
	h := always(w.enqueueCompile)
	h.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q queue) {
		before, now := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
		switch {
		case before.UID != now.UID, !maps.Equal(before.Labels, now.Labels), !maps.Equal(before.Annotations, now.Annotations):
			w.enqueueCompile(q)
		case isReady(before) != isReady(now), isLeaving(before) != isLeaving(now):
			enqueue(q, limits.Debounce)
		}
	}
	return h
}

// policyByOthers passes the changes of a RolloutPolicy that this manager did not make: of its spec, and of conditions that gates name.
func policyByOthers() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld.(*v1alpha1.RolloutPolicy), e.ObjectNew.(*v1alpha1.RolloutPolicy)
		return before.UID != now.UID || slices.ContainsFunc(now.Spec.Gates, func(gate string) bool {
			return conditionStatus(before.Status.Conditions, gate) != conditionStatus(now.Status.Conditions, gate)
		})
	}})
}

func conditionStatus(all []metav1.Condition, kind string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(all, kind); c != nil {
		return c.Status
	}
	return ""
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
