package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
	"github.com/fettle-dev/fettle/test/benchmarks/bench"
	"github.com/fettle-dev/fettle/test/benchmarks/simulated"
)

// A result has the change without policies and with some.
type result struct {
	nodes        int
	waves        int // of the longest rollout
	fanOut, slow cost
}

// A cost is what a change of a resource takes that all nodes have.
type cost struct {
	took    time.Duration // to the last node in sync, and to the end of the rollouts
	patches int64         // of NodeCatalogs
	writes  int           // of a policy's status, at most
	closest time.Duration // the minimum time between two of them; 0 if there are none
	cpu     time.Duration // of the manager
	peak    int64         // bytes of the manager, which was started before the change
}

func measure(ctx context.Context, o options, nodes int) (r result, err error) {
	r.nodes = nodes
	err = bench.On("rollout", func(s *bench.Stage) {
		f := simulated.New(ctx, s, o.Options, nodes)
		f.StartAgents(ctx)
		r.fanOut = change(ctx, f, func(generation int64) bool { return f.Ready(ctx, generation) })
		all := split(f.Labels())
		r.waves = waves(all, f.Labels())
		for _, p := range all {
			f.Must(f.Client.Create(ctx, p))
		}
		r.slow = change(ctx, f, func(int64) bool {
			return !slices.ContainsFunc(all, func(p *v1alpha1.RolloutPolicy) bool { return !completed(ctx, f, p) })
		})
	})
	return r, err
}

// soak is the least that a policy accepts.
const soak = 90 * time.Second

// parts is the number of policies, which have equal shares of the nodes.
const parts = 4

// split returns policies that share nodes by a label. All else has its default.
func split(labels map[string]map[string]string) (all []*v1alpha1.RolloutPolicy) {
	groups := map[string]bool{}
	for _, l := range labels {
		groups[l[simulated.Group]] = true
	}
	values := slices.Sorted(maps.Keys(groups))
	for share := range slices.Chunk(values, (len(values)+parts-1)/parts) {
		p := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("part-%d", len(all)+1)}}
		p.Spec.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: simulated.Group, Operator: metav1.LabelSelectorOpIn, Values: share}}}
		p.Spec.Soak = &metav1.Duration{Duration: soak}
		all = append(all, p)
	}
	return all
}

// waves returns in how many steps a change would reach all nodes of each policy if the nodes of each step proved it at once.
func waves(all []*v1alpha1.RolloutPolicy, labels map[string]map[string]string) (most int) {
	for _, stage := range policies.New(all).Stages(labels, func(string) bool { return true }, time.Now()) {
		most = max(most, stage.Waves)
	}
	return most
}

// completed reports whether a policy is at rest after its first rollout.
func completed(ctx context.Context, f *simulated.Fleet, p *v1alpha1.RolloutPolicy) bool {
	f.Must(f.Client.Get(ctx, client.ObjectKeyFromObject(p), p))
	return len(p.Status.History) > 0 && p.Status.Target == "" && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
}

// change starts a manager, waits until all is at rest, and makes a change. The manager is stopped at its end.
func change(ctx context.Context, f *simulated.Fleet, ended func(generation int64) bool) (c cost) {
	f.StartManager()
	defer f.StopManager()
	f.Until(ctx, "every node is in sync", func() bool { return f.Ready(ctx, 0) && policiesReady(ctx, f) })
	cpu, patches := f.ManagerUsage().CPU, f.Proxy.Patches.Load()
	began := time.Now()
	generation := f.Edit(ctx)
	f.Stage.Until(ctx, "the change is applied by all", time.Second/2, func() bool { return ended(generation) })
	c.took = time.Since(began)
	usage := f.ManagerUsage()
	c.cpu, c.peak, c.patches = usage.CPU-cpu, usage.Peak, f.Proxy.Patches.Load()-patches
	var pauses []time.Duration
	for _, times := range f.Proxy.PolicyWrites(began) {
		c.writes = max(c.writes, len(times))
		for i := 1; i < len(times); i++ {
			pauses = append(pauses, times[i].Sub(times[i-1]))
		}
	}
	if len(pauses) > 0 {
		c.closest = slices.Min(pauses)
	}
	return c
}

// policiesReady reports whether every policy is at rest.
func policiesReady(ctx context.Context, f *simulated.Fleet) bool {
	var all v1alpha1.RolloutPolicyList
	f.Must(f.Client.List(ctx, &all))
	return !slices.ContainsFunc(all.Items, func(p v1alpha1.RolloutPolicy) bool {
		return !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	})
}
