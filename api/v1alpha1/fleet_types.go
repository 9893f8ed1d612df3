package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FleetName is the name of the only Fleet.
const FleetName = "fleet"

// Fleet sums up all nodes and resources. There is one, named fleet, which the manager creates and keeps
// up to date: at most every ten seconds, and at least every hour.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=fettle
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'fleet'",message="the only Fleet is named fleet, and the manager creates it"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.total`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.nodes.pending`
// +kubebuilder:printcolumn:name="Held",type=integer,JSONPath=`.status.nodes.held`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Withheld",type=integer,JSONPath=`.status.nodes.withheld`
// +kubebuilder:printcolumn:name="Disabled",type=integer,JSONPath=`.status.nodes.disabled`
// +kubebuilder:printcolumn:name="Silent",type=integer,JSONPath=`.status.nodes.silent`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.nodes.waiting`
// +kubebuilder:printcolumn:name="Drifted",type=integer,JSONPath=`.status.drift.nodes`
// +kubebuilder:printcolumn:name="Uncorrected",type=integer,JSONPath=`.status.drift.uncorrected`
// +kubebuilder:printcolumn:name="Resources",type=integer,JSONPath=`.status.resources.total`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.resources.ready`
// +kubebuilder:printcolumn:name="Reconciling",type=integer,JSONPath=`.status.resources.reconciling`
// +kubebuilder:printcolumn:name="Stalled",type=integer,JSONPath=`.status.resources.stalled`
// +kubebuilder:printcolumn:name="NotReady",type=integer,JSONPath=`.status.resources.notReady`
// +kubebuilder:printcolumn:name="Updated",type=date,JSONPath=`.status.updated`
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec FleetSpec `json:"spec,omitempty"`
	// +optional
	Status FleetStatus `json:"status,omitempty"`
}

// FleetSpec is what people ask of all nodes.
type FleetSpec struct {
	// disabled suspends runs on all nodes, and on those that join.
	// +optional
	Disabled *Disabled `json:"disabled,omitempty"`
}

// FleetStatus is the state of the fleet.
type FleetStatus struct {
	// updated is when this status last changed: at most an hour ago while a manager works.
	// +optional
	Updated *metav1.Time `json:"updated,omitempty"`
	// nodes by state.
	// +optional
	Nodes FleetNodes `json:"nodes"`
	// resources by state.
	// +optional
	Resources FleetResources `json:"resources"`
	// deselection is what the manager holds because too many nodes would be deselected. Absent if nothing is
	// held.
	// +optional
	Deselection *HeldDeselection `json:"deselection,omitempty"`
	// drift of the last 24 hours.
	// +optional
	Drift FleetDrift `json:"drift"`
	// history has an entry for each of the last 168 hours in which a manager worked, the present one
	// first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=168
	History []FleetHour `json:"history,omitempty"`
}

// HeldDeselection is a deselection that waits for a confirmation.
type HeldDeselection struct {
	// token confirms this deselection, and no other one, as the value of the annotation
	// fettle.dev/confirm-deselection of the Fleet.
	Token string `json:"token"`
	// nodes that are not updated.
	Nodes int32 `json:"nodes"`
	// resources that these nodes would lose.
	Resources int32 `json:"resources"`
	// message explains the deselection, with the command that confirms it.
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// FleetNodes counts nodes by state. Each node is counted in exactly one field besides total and waiting.
type FleetNodes struct {
	// total number of nodes.
	Total int32 `json:"total"`
	// inSync nodes have applied their catalog, and match it.
	InSync int32 `json:"inSync"`
	// pending nodes have yet to apply their catalog.
	Pending int32 `json:"pending"`
	// held nodes are not updated because too many nodes would be deselected.
	Held int32 `json:"held"`
	// outOfSync nodes have differences that are only reported.
	OutOfSync int32 `json:"outOfSync"`
	// failed nodes have resources that failed.
	Failed int32 `json:"failed"`
	// withheld nodes have resources that are withheld from them, or were skipped, and none that failed.
	// +optional
	Withheld int32 `json:"withheld"`
	// disabled nodes have runs disabled.
	Disabled int32 `json:"disabled"`
	// silent nodes have an agent that has not renewed its Lease in time.
	Silent int32 `json:"silent"`
	// waiting nodes do not have the newest revision of their resources yet, because a RolloutPolicy gives them an earlier one.
	// +optional
	Waiting int32 `json:"waiting"`
}

// FleetResources counts resources by state. Each is counted in exactly one field besides total.
type FleetResources struct {
	// total number of resources, without those that are being deleted.
	Total int32 `json:"total"`
	// ready resources are applied on all their nodes.
	Ready int32 `json:"ready"`
	// reconciling resources are being applied.
	Reconciling int32 `json:"reconciling"`
	// stalled resources failed, or cannot be applied.
	Stalled int32 `json:"stalled"`
	// notReady resources are none of these.
	NotReady int32 `json:"notReady"`
}

// FleetDrift sums up the records of drift that was last seen in the last 24 hours.
type FleetDrift struct {
	// resources that drifted. Objects that a resource generated count on their own.
	Resources int32 `json:"resources"`
	// nodes on which resources drifted.
	Nodes int32 `json:"nodes"`
	// count of times that these resources drifted since their records begin.
	Count int64 `json:"count"`
	// uncorrected is how many resources drifted on how many nodes without being corrected: each resource
	// counts once for each of these nodes.
	Uncorrected int32 `json:"uncorrected"`
}

// FleetHour is the state of the nodes at the end of an hour. Each node is counted in exactly one field.
type FleetHour struct {
	// hour is when the hour starts.
	Hour metav1.Time `json:"hour"`
	// inSync nodes matched their catalogs, and did not drift in the hour.
	InSync int32 `json:"inSync"`
	// drifting nodes drifted in the hour, or had differences that were only reported.
	Drifting int32 `json:"drifting"`
	// failed nodes had resources that failed or were withheld.
	Failed int32 `json:"failed"`
	// unknown nodes were silent, disabled or held, or had yet to apply their catalog.
	Unknown int32 `json:"unknown"`
}

// FleetList is a list of Fleets.
//
// +kubebuilder:object:root=true
type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Fleet `json:"items"`
}
