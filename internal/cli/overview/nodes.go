// Package overview explains the state of a fleet by what its cluster knows.
//
// A [Client] reads; everything else is pure.
package overview

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/nodestate"
)

// A NodeCatalog is the part of a NodeCatalog that overviews read.
type NodeCatalog struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Withheld []v1alpha1.Withheld   `json:"withheld"`
		Held     *v1alpha1.Held        `json:"held"`
		Rollout  *v1alpha1.NodeRollout `json:"rollout"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64                     `json:"observedGeneration"`
		AppliedGeneration  int64                     `json:"appliedGeneration"`
		Facts              json.RawMessage           `json:"facts"` // empty if the node has reported none
		Counts             *v1alpha1.RunCounts       `json:"counts"`
		LastRun            *v1alpha1.LastRun         `json:"lastRun"`
		Resources          []v1alpha1.ResourceReport `json:"resources"`
		Omitted            int32                     `json:"omitted"` // from Resources
		Drift              []v1alpha1.DriftRecord    `json:"drift"`
		Conditions         []metav1.Condition        `json:"conditions"`
	} `json:"status"`
}

// State is the state of the node.
func (n NodeCatalog) State() nodestate.Status { return nodestate.Of(n.object()) }

// Counts counts the resources of the node.
func (n NodeCatalog) Counts() nodestate.Counts { return nodestate.Resources(n.object()) }

// object is the NodeCatalog, as far as the state of the node depends on it.
func (n NodeCatalog) object() *v1alpha1.NodeCatalog {
	return &v1alpha1.NodeCatalog{
		ObjectMeta: n.ObjectMeta,
		Spec:       v1alpha1.NodeCatalogSpec{Withheld: n.Spec.Withheld, Held: n.Spec.Held},
		Status: v1alpha1.NodeCatalogStatus{
			ObservedGeneration: n.Status.ObservedGeneration, AppliedGeneration: n.Status.AppliedGeneration,
			Counts: n.Status.Counts, Conditions: n.Status.Conditions,
		},
	}
}

// missing returns what the node lacks because it is withheld. It is a list of its own: n may be in a cache.
func (n NodeCatalog) missing() (all []v1alpha1.Withheld) {
	for _, w := range n.Spec.Withheld {
		if w.IsMissing() {
			all = append(all, w)
		}
	}
	return all
}
