package overview

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

// NodeLabels returns the labels of each Node of the cluster, by name.
func (c *Client) NodeLabels(ctx context.Context) (map[string]map[string]string, error) {
	nodes, err := list[Node](ctx, c, nodesPath, onlyNames)
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string, len(nodes))
	for _, n := range nodes {
		all[n.Name] = n.Labels
	}
	return all, nil
}

// WithPolicies returns the RolloutPolicies of a cluster after a change of their specs: changed ones replace those of the same name, or are
// added.
func WithPolicies(cluster, changed []v1alpha1.RolloutPolicy) []v1alpha1.RolloutPolicy {
	byName := map[string]v1alpha1.RolloutPolicy{}
	for _, p := range cluster {
		byName[p.Name] = p
	}
	for _, p := range changed {
		is := byName[p.Name]
		is.Name, is.Spec = p.Name, p.Spec
		byName[p.Name] = is
	}
	all := make([]v1alpha1.RolloutPolicy, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}

// PassThrough adds which RolloutPolicies the change would pass: those that take an affected node, and those for which these wait. nodes has
// the labels of all nodes.
func (p *Plan) PassThrough(all []v1alpha1.RolloutPolicy, nodes map[string]map[string]string, now time.Time) {
	named := map[string]bool{}
	for _, g := range p.Groups {
		for _, node := range g.Nodes {
			named[node] = true
		}
	}
	if missing := p.Nodes.Affected - len(named); missing > 0 && len(all) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("the stages of RolloutPolicies lack %d affected nodes, which the plan has no time to name: use a longer --timeout", missing))
	}
	stages := setOf(all).Stages(nodes, func(node string) bool { return named[node] }, now)
	p.RolloutPolicies = append([]policies.Stage{}, passed(stages)...)
}

func setOf(all []v1alpha1.RolloutPolicy) *policies.Set {
	pointers := make([]*v1alpha1.RolloutPolicy, len(all))
	for i := range all {
		pointers[i] = &all[i]
	}
	return policies.New(pointers)
}

// passed returns the stages with affected nodes, and those that come before one of them.
func passed(stages []policies.Stage) (some []policies.Stage) {
	awaited := map[string]bool{}
	for _, s := range slices.Backward(stages) { // each comes after those for which it waits
		if s.Affected == 0 && !awaited[s.Policy] {
			continue
		}
		for _, name := range s.After {
			awaited[name] = true
		}
		some = append(some, s)
	}
	slices.Reverse(some)
	return some
}
