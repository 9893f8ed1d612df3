// Package overview explains the state of a fleet by what its cluster knows.
//
// A [Client] reads; everything else is pure.
package overview

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A Node is the part of a NodeCatalog that overviews need.
type Node struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Withheld []v1alpha1.Withheld `json:"withheld"`
	} `json:"spec"`
	Status struct {
		AppliedGeneration int64                     `json:"appliedGeneration"`
		Facts             json.RawMessage           `json:"facts"` // empty if the node has reported none
		Counts            *v1alpha1.RunCounts       `json:"counts"`
		LastRun           *v1alpha1.LastRun         `json:"lastRun"`
		Resources         []v1alpha1.ResourceReport `json:"resources"`
		Omitted           int32                     `json:"omitted"` // from Resources
		Drift             []v1alpha1.DriftRecord    `json:"drift"`
		Conditions        []metav1.Condition        `json:"conditions"`
	} `json:"status"`
}
