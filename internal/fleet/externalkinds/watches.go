package externalkinds

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// Watches are the informers of external kinds, one for each definition. They are not safe for concurrent use.
type Watches struct {
	Controller controller.Controller
	Cache      cache.Cache
	// Handler handles the events of resources.
	Handler handler.EventHandler
	// Synced is called when the resources of a new kind are in the cache.
	Synced func(queue)

	running map[types.UID]*watch // by UID of the definition
}

type watch struct {
	object *unstructured.Unstructured // of the kind
	since  time.Time
	stop   context.CancelFunc // nil if it has not started
	synced atomic.Bool
}

// set starts and stops watches, so that each definition with a kind has one.
func (w *Watches) set(ctx context.Context, now time.Time, definitions map[string]*definition) {
	wanted := map[types.UID]*definition{}
	for _, d := range definitions {
		if d.kind != "" {
			wanted[d.uid] = d
		}
	}
	for uid, is := range w.running {
		if d := wanted[uid]; d == nil || d.kind != is.object.GetKind() {
			w.remove(ctx, uid)
		}
	}
	for uid, d := range wanted {
		w.add(ctx, now, uid, d)
	}
}

// state returns since when a watch of a definition runs, and whether the resources are in the cache.
func (w *Watches) state(uid types.UID) (since time.Time, synced bool) {
	is := w.running[uid]
	if is == nil {
		return time.Time{}, false
	}
	return is.since, is.synced.Load()
}

// remove stops a watch, before another one of the same kind may start.
func (w *Watches) remove(ctx context.Context, uid types.UID) {
	is := w.running[uid]
	delete(w.running, uid)
	if is.stop == nil {
		return
	}
	is.stop()
	if err := w.Cache.RemoveInformer(ctx, is.object); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot stop to watch a kind", "kind", is.object.GetKind())
	}
}

// add starts a watch unless it runs. The next call tries again what failed, such as when the API server does not serve the
// kind yet although its definition says so.
func (w *Watches) add(ctx context.Context, now time.Time, uid types.UID, d *definition) {
	is := w.running[uid]
	if is == nil {
		is = &watch{object: &unstructured.Unstructured{}, since: now}
		is.object.SetGroupVersionKind(v1alpha1.ExternalGroupVersion.WithKind(d.kind))
		if w.running == nil {
			w.running = map[types.UID]*watch{}
		}
		w.running[uid] = is
	}
	if is.stop != nil {
		return
	}
	_, err := w.Cache.GetInformer(ctx, is.object, cache.BlockUntilSynced(false))
	if err == nil {
		err = w.Controller.Watch(w.source(is))
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot watch a kind yet", "kind", d.kind, "reason", err.Error())
	}
}

// source returns a source that ends with the watch.
func (w *Watches) source(is *watch) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		ctx, is.stop = context.WithCancel(ctx)
		kind := source.Kind[client.Object](w.Cache, is.object, w.Handler)
		if err := kind.Start(ctx, q); err != nil {
			return err
		}
		go func() {
			if kind.WaitForSync(ctx) == nil && ctx.Err() == nil {
				is.synced.Store(true)
				w.Synced(q)
			}
		}()
		return nil
	})
}
