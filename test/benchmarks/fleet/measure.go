package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/benchmarks/simulated"
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

// A fleet is measured.
type fleet struct {
	*simulated.Fleet
	quiet time.Duration
}

// A comparison has the times of the manager and of a bare client for the same patches.
type comparison struct{ manager, floor time.Duration }

func (c comparison) ratio() float64 { return bench.Ratio(c.manager, c.floor) }

// rounds is how many comparisons are made, one right after the other: a machine that others share is not as fast at any time.
const rounds = 3

func measure(ctx context.Context, o options, nodes int) (r result, err error) {
	r.nodes = nodes
	err = bench.On("fleet", func(s *bench.Stage) {
		f := &fleet{simulated.New(ctx, s, o.Options, nodes), o.quiet}
		f.StartManager()
		began := time.Now()
		stop := f.StartAgents(ctx)
		f.Until(ctx, "every node is in sync", func() bool { return f.Ready(ctx, 0) })
		r.start = time.Since(began)
		f.quietly(ctx, &r)
		f.change(ctx, &r)
		stop()
		r.peak = f.ManagerUsage().Peak
		f.ignoreSilence(ctx)
		var all []comparison
		for range rounds {
			if len(all) > 0 {
				f.putBack(ctx)
			}
			var c comparison
			c.manager = f.fanOutAlone(ctx)
			r.peak = max(r.peak, f.ManagerUsage().Peak)
			f.StopManager()
			c.floor = f.bare(ctx, int(r.bytes/max(1, r.patches)))
			all = append(all, c)
		}
		slices.SortFunc(all, func(a, b comparison) int { return cmp.Compare(a.ratio(), b.ratio()) })
		r.fanOut = all[len(all)/2]
	})
	return r, err
}

// change measures one with agents at work.
func (f *fleet) change(ctx context.Context, r *result) {
	before, cpu, seen := f.counters(ctx), f.ManagerUsage().CPU, f.Specs(ctx)
	patches, bytes := f.Proxy.Patches.Load(), f.Proxy.Bytes.Load()
	began := time.Now()
	generation := f.Edit(ctx)
	r.patched = f.All(ctx, began, seen)
	f.Until(ctx, "the change is applied by all", func() bool { return f.Ready(ctx, generation) })
	r.aggregated = time.Since(began)
	after := f.counters(ctx)
	r.cpu = f.ManagerUsage().CPU - cpu
	r.patches, r.bytes = f.Proxy.Patches.Load()-patches, f.Proxy.Bytes.Load()-bytes
	r.etcd = after.etcd - before.etcd
}

var leaseOfAnHour = []string{"-lease-duration", "1h"}

// ignoreSilence starts a manager that takes no agent for silent though all are stopped: to say so of each is work that has
// nothing to do with a change.
func (f *fleet) ignoreSilence(ctx context.Context) {
	f.StopManager()
	f.StartManager(leaseOfAnHour...)
	f.Until(ctx, "every Lease lasts an hour", func() bool {
		var all coordinationv1.LeaseList
		f.Must(f.Client.List(ctx, &all, client.InNamespace(v1alpha1.AgentNamespace)))
		return !slices.ContainsFunc(all.Items, func(l coordinationv1.Lease) bool { return *l.Spec.LeaseDurationSeconds != 3600 })
	})
}

// putBack starts the manager that ignores silence again, so that it reverts the patches of the bare client.
func (f *fleet) putBack(ctx context.Context) {
	seen := f.Specs(ctx)
	began := time.Now()
	f.StartManager(leaseOfAnHour...)
	f.All(ctx, began, seen)
	last, since := f.counters(ctx).writes, time.Now()
	f.Until(ctx, "the manager has written the status", func() bool {
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
	seen := f.Specs(ctx)
	began := time.Now()
	f.Edit(ctx)
	return f.All(ctx, began, seen)
}

// bare makes the same patches with nothing but a client: as many, of the same size, as many at a time.
func (f *fleet) bare(ctx context.Context, size int) time.Duration {
	c, err := client.New(f.Proxy.Config(), client.Options{Scheme: f.Client.Scheme()})
	f.Must(err)
	seen := f.Specs(ctx)
	began := time.Now()
	f.Each(len(f.Nodes), func(i int) error {
		o := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: f.Nodes[i]}}
		return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, f.patch(size)))
	})
	return f.All(ctx, began, seen)
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
