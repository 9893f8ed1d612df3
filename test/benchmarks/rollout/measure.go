package main

import (
	"context"
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

// A result has the change without a policy and with one.
type result struct {
	nodes        int
	waves        int // of the rollout
	fanOut, slow cost
}

// A cost is what a change of a resource takes that all nodes have.
type cost struct {
	took    time.Duration // to the last node in sync, and to the end of the rollout
	patches int64         // of NodeCatalogs
	writes  int           // of the policy's status
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
		p := policy()
		r.waves = waves(p, f.Nodes)
		f.Must(f.Client.Create(ctx, p))
		r.slow = change(ctx, f, func(int64) bool { return completed(ctx, f, p, 1) })
	})
	return r, err
}

// soak is the least that a policy accepts.
const soak = 90 * time.Second

// policy takes all nodes. All else has its default.
func policy() *v1alpha1.RolloutPolicy {
	p := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DefaultRolloutPolicy}}
	p.Spec.NodeSelector, p.Spec.Soak = &metav1.LabelSelector{}, &metav1.Duration{Duration: soak}
	return p
}

// waves returns in how many steps a change would reach all nodes of a policy if the nodes of each step proved it at once.
func waves(p *v1alpha1.RolloutPolicy, nodes []string) int {
	labels := map[string]map[string]string{}
	for _, n := range nodes {
		labels[n] = nil
	}
	return policies.New([]*v1alpha1.RolloutPolicy{p}).Stages(labels, func(string) bool { return true }, time.Now())[0].Waves
}

// completed reports whether a policy is at rest, after a number of rollouts.
func completed(ctx context.Context, f *simulated.Fleet, p *v1alpha1.RolloutPolicy, rollouts int) bool {
	f.Must(f.Client.Get(ctx, client.ObjectKeyFromObject(p), p))
	return len(p.Status.History) == rollouts && p.Status.Target == "" && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
}

// change starts a manager, waits until all is at rest, and makes a change. The manager is stopped at its end.
func change(ctx context.Context, f *simulated.Fleet, ended func(generation int64) bool) (c cost) {
	f.StartManager()
	defer f.StopManager()
	f.Until(ctx, "every node is in sync", func() bool { return f.Ready(ctx, 0) && policiesReady(ctx, f) })
	cpu, patches, writes := f.ManagerUsage().CPU, f.Proxy.Patches.Load(), len(f.Proxy.PolicyWrites())
	began := time.Now()
	generation := f.Edit(ctx)
	f.Stage.Until(ctx, "the change is applied by all", time.Second/2, func() bool { return ended(generation) })
	c.took = time.Since(began)
	usage, times := f.ManagerUsage(), f.Proxy.PolicyWrites()[writes:]
	c.cpu, c.peak, c.patches, c.writes, c.closest = usage.CPU-cpu, usage.Peak, f.Proxy.Patches.Load()-patches, len(times), closest(times)
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

// closest returns the minimum time between two of the times, which are sorted.
func closest(times []time.Time) (least time.Duration) {
	for i := 1; i < len(times); i++ {
		if d := times[i].Sub(times[i-1]); least == 0 || d < least {
			least = d
		}
	}
	return least
}
