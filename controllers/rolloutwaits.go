package controllers

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/nodestatus"
)

// rolloutsOf returns the rollout that each resource waits for on some nodes. One that needs a person comes before others, and then the one
// that most nodes wait for.
func rolloutsOf(nodes map[string]node, assigned assignments) map[v1alpha1.ResourceRef]*conditions.Rollout {
	waiting := map[*nodestatus.Waiting]int{}
	for _, n := range nodes {
		if n.Waiting != nil {
			waiting[n.Waiting]++
		}
	}
	type key struct {
		ref    v1alpha1.ResourceRef
		policy string
	}
	all := map[key]*conditions.Rollout{}
	for w, count := range waiting {
		for _, ref := range w.Changed {
			k := key{ref, w.Policy}
			if all[k] == nil {
				all[k] = assigned.rollout(w.Policy)
			}
			all[k].Nodes += count
		}
	}
	worst := map[v1alpha1.ResourceRef]*conditions.Rollout{}
	for k, r := range all {
		if is := worst[k.ref]; is == nil || comesBefore(r, is) {
			worst[k.ref] = r
		}
	}
	return worst
}

// comesBefore reports whether one rollout explains more than another why a resource is not ready.
func comesBefore(a, b *conditions.Rollout) bool {
	switch {
	case a.Stalled != b.Stalled:
		return a.Stalled
	case a.Nodes != b.Nodes:
		return a.Nodes > b.Nodes
	}
	return a.Policy < b.Policy
}
