package controllers

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
)

// maxRetry is the longest wait after failures: what fails for one node must not keep
// the others waiting.
const maxRetry = 30 * time.Second

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// SetupWithManager watches all that a pass reads. A pass begins when every cache is
// filled, and not before: what is missing from a cache would look deleted.
func (r *Fleet) SetupWithManager(mgr ctrl.Manager) error {
	r.elected = mgr.Elected()
	if r.Contact != nil {
		r.leases.lost = r.Contact.lost
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("fleet").
		WithOptions(controller.Options{
			EnableWarmup:            new(true), // whoever waits for the lease has its caches filled
			MaxConcurrentReconciles: 1,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](settle, maxRetry),
		}).
		WatchesMetadata(&corev1.Node{}, r.recompile(), builder.WithPredicates(labelsOrAnnotations())).
		WatchesMetadata(&v1alpha1.Catalog{}, r.recompile(), builder.WithPredicates(onlyDeletion())).
		WatchesMetadata(&corev1.ConfigMap{}, r.recompile(), builder.WithPredicates(predicate.NewPredicateFuncs(r.sources.named))).
		Watches(&corev1.Secret{}, r.recompile(), builder.WithPredicates(predicate.NewPredicateFuncs(r.secrets.named))).
		Watches(&v1alpha1.NodeCatalog{}, r.nodeReports()).
		Watches(&coordinationv1.Lease{}, r.leaseEvents())
	for _, kind := range v1alpha1.Resources() {
		b = b.Watches(kind, r.resourceChanges())
	}
	return b.Complete(r)
}

// resourceChanges asks for as much as a change of a resource makes necessary: none where it
// is one of its status, or of metadata that are not ours.
func (r *Fleet) resourceChanges() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { r.changeSoon(q) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { r.changeSoon(q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, now := e.ObjectOld, e.ObjectNew
			other := func(annotation string) bool {
				return before.GetAnnotations()[annotation] != now.GetAnnotations()[annotation]
			}
			switch {
			case before.GetUID() != now.GetUID(), before.GetGeneration() != now.GetGeneration(), other(v1alpha1.AnnotationConfirmDeselection):
				r.changeSoon(q)
			case other(v1alpha1.AnnotationAbandonCleanup),
				controllerutil.ContainsFinalizer(before, v1alpha1.FinalizerCleanup) != controllerutil.ContainsFinalizer(now, v1alpha1.FinalizerCleanup):
				passSoon(q)
			}
		},
	}
}

// recompile asks for a pass that compiles.
func (r *Fleet) recompile() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { r.compileSoon(q) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { r.compileSoon(q) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { r.compileSoon(q) },
	}
}

// changeSoon is for what people change, more of which may follow.
func (r *Fleet) changeSoon(q queue) {
	r.burst.note(r.Clock.Now())
	r.compileSoon(q)
}

func (r *Fleet) compileSoon(q queue) {
	r.outdated.Store(true)
	passSoon(q)
}

// passSoon asks for a pass that reads status alone, unless more is due.
func passSoon(q queue) { passAfter(q, settle) }

func passAfter(q queue, wait time.Duration) {
	q.AddAfter(ctrl.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}, wait)
}

// nodeReports asks for as much as a change of a NodeCatalog makes necessary, and sends events
// about what happened on the node.
func (r *Fleet) nodeReports() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { r.compileSoon(q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.quotas.forget(e.Object.GetName())
			r.compileSoon(q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok1 := e.ObjectOld.(*v1alpha1.NodeCatalog)
			now, ok2 := e.ObjectNew.(*v1alpha1.NodeCatalog)
			if ok1 && ok2 {
				r.noteReport(before, now, q)
			}
		},
	}
}

// noteReport does what a change of a NodeCatalog makes necessary, within the node's quota.
func (r *Fleet) noteReport(before, now *v1alpha1.NodeCatalog, q queue) {
	quota := r.quotas.of(now.Name, r.Clock)
	if r.leads() {
		for _, o := range nodeEvents(before.Status, now.Status) {
			if quota.events.TryAccept() {
				emit(r.Recorder, now, []occurrence{o})
			} else {
				r.Metrics.droppedEvent()
			}
		}
	}
	compiles := before.Status.PublicKey != now.Status.PublicKey || !sameFacts(before.Status.Facts, now.Status.Facts)
	switch {
	case before.Generation != now.Generation: // which is not the node's doing
		r.compileSoon(q)
	case reflect.DeepEqual(before.Status, now.Status):
	default:
		if compiles {
			r.outdated.Store(true)
		}
		wait := settle
		if !quota.passes.TryAccept() {
			wait = passEvery
		}
		passAfter(q, wait)
	}
}

// leads reports whether it is for this manager to tell people: one that waits to be elected
// sees all that the other sees.
func (r *Fleet) leads() bool {
	select {
	case <-r.elected:
		return true
	default:
		return false
	}
}

func sameFacts(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Raw, b.Raw)
}

// labelsOrAnnotations lets pass what selectors and expressions can see of a Node. Its
// heartbeats are no news.
func labelsOrAnnotations() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
	}}
}

// onlyDeletion is all that can happen to a Catalog that we did not do.
func onlyDeletion() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

func metadataList(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	if kind == "Node" || kind == "Secret" {
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
	}
	return list
}

// shared lists without copying: passes never change what they read.
func shared() client.ListOption { return client.UnsafeDisableDeepCopy }
