package simulated

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Edit changes a resource that every node has, and returns its generation.
func (f *Fleet) Edit(ctx context.Context) int64 {
	o := f.file(0)
	content, err := json.Marshal(fmt.Sprintf("changed at %s\n", time.Now()))
	f.Must(err)
	patch := fmt.Appendf(nil, `{"spec":{"content":%s}}`, content)
	f.Must(f.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)))
	return o.Generation
}

// Ready reports whether a resource of every node was applied in a generation or a later one; for 0, whether all resources were.
func (f *Fleet) Ready(ctx context.Context, generation int64) bool {
	var all v1alpha1.FileList
	if generation > 0 {
		all.Items = make([]v1alpha1.File, 1)
		f.Must(f.Client.Get(ctx, client.ObjectKey{Name: f.file(0).Name}, &all.Items[0]))
	} else {
		f.Must(f.Client.List(ctx, &all))
	}
	return !slices.ContainsFunc(all.Items, func(o v1alpha1.File) bool {
		n := o.Status.Nodes
		return o.Status.ObservedGeneration < max(generation, o.Generation) || !meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReady) ||
			n == nil || n.InSync != n.Selected
	})
}

// Specs watches NodeCatalogs from now on: the names of those whose spec changes are sent.
func (f *Fleet) Specs(ctx context.Context) <-chan string {
	c, err := client.NewWithWatch(f.Config, client.Options{Scheme: f.Client.Scheme()})
	f.Must(err)
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeCatalogList"))
	f.Must(c.List(ctx, &list))
	generations := map[string]int64{}
	for _, o := range list.Items {
		generations[o.Name] = o.Generation
	}
	// An API server may end a watch at any time, and does so when it is busy.
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			var list metav1.PartialObjectMetadataList
			list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeCatalogList"))
			return c.Watch(ctx, &list, &client.ListOptions{Raw: &options})
		},
	})
	f.Must(err)
	f.Cleanup(w.Stop)
	seen := make(chan string, len(f.Nodes))
	go func() {
		defer close(seen)
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*metav1.PartialObjectMetadata); ok && o.Generation > generations[o.Name] {
				generations[o.Name] = o.Generation
				seen <- o.Name
			}
		}
	}()
	return seen
}

// All waits until every node was seen, and returns the time since a change.
func (f *Fleet) All(ctx context.Context, began time.Time, seen <-chan string) time.Duration {
	missing := map[string]bool{}
	for _, n := range f.Nodes {
		missing[n] = true
	}
	for len(missing) > 0 {
		select {
		case <-ctx.Done():
			f.Fatalf("%d NodeCatalogs were not patched: %v", len(missing), ctx.Err())
		case name, open := <-seen:
			if !open {
				f.Fatalf("the watch ended with %d NodeCatalogs to come", len(missing))
			}
			delete(missing, name)
		}
	}
	return time.Since(began)
}
