package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
)

// A result is a line of the tables.
type result struct {
	nodes int
	// start is from the manager's first pass to the last node in sync, as a cluster is when Fettle comes to it.
	start time.Duration
	// fanOut is from a changed resource to the last NodeCatalog patched, with no agent at work.
	fanOut comparison
	// patched and aggregated are the same with agents at work, to the last patch and to the resource's Ready.
	patched, aggregated time.Duration
	patches, bytes      int64         // of NodeCatalogs, by the manager, for that change
	etcd                float64       // bytes that its database grew by in that
	cpu                 time.Duration // of the manager, for that change
	peak                int64         // bytes of the manager
	// requests a second in a fleet to which nothing happens: those that renew Leases, all others, and those that write.
	leases, others, writes float64
}

// A comparison has the times of the manager and of a bare client for the same patches.
type comparison struct{ manager, floor time.Duration }

func (c comparison) ratio() float64 { return bench.Ratio(c.manager, c.floor) }

// rounds is how many comparisons are made, one right after the other: a machine that others share is not as fast at any time.
const rounds = 3

func measure(ctx context.Context, o options, nodes int) (r result, err error) {
	r.nodes = nodes
	err = bench.On("fleet", func(s *bench.Stage) {
		f := newFleet(s, o, nodes)
		f.populate(ctx)
		f.startManager()
		began := time.Now()
		stop := f.startAgents(ctx)
		f.until(ctx, "every node is in sync", func() bool { return f.ready(ctx, 0) })
		r.start = time.Since(began)
		f.quietly(ctx, &r)
		f.change(ctx, &r)
		stop()
		r.peak = f.managerUsage().Peak
		f.ignoreSilence(ctx)
		var all []comparison
		for range rounds {
			if len(all) > 0 {
				f.putBack(ctx)
			}
			var c comparison
			c.manager = f.fanOutAlone(ctx)
			r.peak = max(r.peak, f.managerUsage().Peak)
			f.stopManager()
			c.floor = f.bare(ctx, int(r.bytes/max(1, r.patches)))
			all = append(all, c)
		}
		slices.SortFunc(all, func(a, b comparison) int { return cmp.Compare(a.ratio(), b.ratio()) })
		r.fanOut = all[len(all)/2]
	})
	return r, err
}

// ready reports whether a resource of every node was applied in a generation or a later one, and all others as well.
func (f *fleet) ready(ctx context.Context, generation int64) bool {
	var all v1alpha1.FileList
	if generation > 0 {
		all.Items = make([]v1alpha1.File, 1)
		f.Must(f.client.Get(ctx, client.ObjectKey{Name: f.file(0).Name}, &all.Items[0]))
	} else {
		f.Must(f.client.List(ctx, &all))
	}
	return !slices.ContainsFunc(all.Items, func(o v1alpha1.File) bool {
		n := o.Status.Nodes
		return o.Status.ObservedGeneration < max(generation, o.Generation) || !meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionReady) ||
			n == nil || n.InSync != n.Selected
	})
}

// edit changes a resource that every node has, and returns its generation.
func (f *fleet) edit(ctx context.Context) int64 {
	o := f.file(0)
	content, err := json.Marshal(fmt.Sprintf("changed at %s\n", time.Now()))
	f.Must(err)
	patch := fmt.Appendf(nil, `{"spec":{"content":%s}}`, content)
	f.Must(f.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)))
	return o.Generation
}

// change measures one with agents at work.
func (f *fleet) change(ctx context.Context, r *result) {
	before, cpu, seen := f.counters(ctx), f.managerUsage().CPU, f.specs(ctx)
	patches, bytes := f.proxy.patches.Load(), f.proxy.bytes.Load()
	began := time.Now()
	generation := f.edit(ctx)
	r.patched = f.all(ctx, began, seen)
	f.until(ctx, "the change is applied by all", func() bool { return f.ready(ctx, generation) })
	r.aggregated = time.Since(began)
	after := f.counters(ctx)
	r.cpu = f.managerUsage().CPU - cpu
	r.patches, r.bytes = f.proxy.patches.Load()-patches, f.proxy.bytes.Load()-bytes
	r.etcd = after.etcd - before.etcd
}

var leaseOfAnHour = []string{"-lease-duration", "1h"}

// ignoreSilence starts a manager that takes no agent for silent though all are stopped: to say so of each is work that has
// nothing to do with a change.
func (f *fleet) ignoreSilence(ctx context.Context) {
	f.stopManager()
	f.startManager(leaseOfAnHour...)
	f.until(ctx, "every Lease lasts an hour", func() bool {
		var all coordinationv1.LeaseList
		f.Must(f.client.List(ctx, &all, client.InNamespace(v1alpha1.AgentNamespace)))
		return !slices.ContainsFunc(all.Items, func(l coordinationv1.Lease) bool { return *l.Spec.LeaseDurationSeconds != 3600 })
	})
}

// putBack starts the manager that ignores silence again, so that it reverts the patches of the bare client.
func (f *fleet) putBack(ctx context.Context) {
	seen := f.specs(ctx)
	began := time.Now()
	f.startManager(leaseOfAnHour...)
	f.all(ctx, began, seen)
	last, since := f.counters(ctx).writes, time.Now()
	f.until(ctx, "the manager has written the status", func() bool {
		if now := f.counters(ctx).writes; now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > statusGap
	})
}

// statusGap is the least time between two writes of a resource's status.
const statusGap = 5 * time.Second

// fanOutAlone measures one with no agent at work.
func (f *fleet) fanOutAlone(ctx context.Context) time.Duration {
	seen := f.specs(ctx)
	began := time.Now()
	f.edit(ctx)
	return f.all(ctx, began, seen)
}

// specs watches NodeCatalogs from now on: the names of those whose spec changes come by.
func (f *fleet) specs(ctx context.Context) <-chan string {
	c, err := client.NewWithWatch(f.cfg, client.Options{Scheme: f.client.Scheme()})
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
	seen := make(chan string, len(f.nodes))
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

// all waits until every node was seen.
func (f *fleet) all(ctx context.Context, began time.Time, seen <-chan string) time.Duration {
	missing := map[string]bool{}
	for _, n := range f.nodes {
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

// bare makes the same patches with nothing but a client: as many, of the same size, as many at a time.
func (f *fleet) bare(ctx context.Context, size int) time.Duration {
	c, err := client.New(f.proxy.config(), client.Options{Scheme: f.client.Scheme()})
	f.Must(err)
	seen := f.specs(ctx)
	began := time.Now()
	f.each(len(f.nodes), func(i int) error {
		o := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: f.nodes[i]}}
		return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, f.patch(size)))
	})
	return f.all(ctx, began, seen)
}

// patch is one of about a size that changes a NodeCatalog's list of catalogs.
func (f *fleet) patch(size int) []byte {
	var refs []v1alpha1.CatalogRef
	for i := range max(1, size/len(`{"name":"sha256-0000000000000000000000000000000000000000000000000000000000000000"},`)) {
		refs = append(refs, v1alpha1.CatalogRef{Name: fmt.Sprintf("sha256-%064x", i)})
	}
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"catalogs": refs}})
	f.Must(err)
	return text
}
