package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResourceRef names a resource: Kind/metadata.name, as in File/motd.
// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
// +kubebuilder:validation:MaxLength=317
type ResourceRef string

// Targeting is what every resource says besides its attributes: on which nodes, in
// which order, by which means.
type Targeting struct {
	// nodeSelector selects nodes by label. {} selects every node.
	// +required
	NodeSelector *metav1.LabelSelector `json:"nodeSelector"`

	// when is a CEL expression over `facts` and `node` (name, labels, annotations)
	// that must be true for the resource to apply to a selected node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	When string `json:"when,omitempty"`

	// acceptSelfLabelledNodes lets a resource that brings a Secret to its nodes select them
	// by what a node may say of itself: labels that its kubelet may set, annotations, facts.
	// Whoever breaks into one node can then have it selected.
	// +optional
	AcceptSelfLabelledNodes bool `json:"acceptSelfLabelledNodes,omitempty"`

	// noop only reports what would change. It overrides the node's own setting,
	// both ways.
	// +optional
	Noop *bool `json:"noop,omitempty"`

	// provider to use instead of the default one of the host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Provider string `json:"provider,omitempty"`

	Edges `json:",inline"`

	// audit lists properties of which every change is reported that something else
	// makes, whether the resource manages them or not; all for all that there are.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[a-z][A-Za-z0-9]*$`
	Audit []string `json:"audit,omitempty"`

	// schedule limits the times at which the resource is looked at.
	// +optional
	Schedule *Schedule `json:"schedule,omitempty"`

	// logLevel is the level of what is reported of the resource; a failure's is
	// always err. Default notice.
	// +optional
	LogLevel LogLevel `json:"logLevel,omitempty"`

	// deletionPolicy says what happens on a host when this resource goes away or stops
	// selecting the node: Orphan, the default, leaves the thing as it is, Delete removes
	// it, Restore puts back what was there before.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// Edges order a resource among the others of its node.
type Edges struct {
	// require lists resources that come before this one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Require []ResourceRef `json:"require,omitempty"`
	// before lists resources that come after this one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Before []ResourceRef `json:"before,omitempty"`
	// notify lists resources that come after this one and are refreshed when it changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Notify []ResourceRef `json:"notify,omitempty"`
	// subscribe lists resources that come before this one and refresh it when they changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Subscribe []ResourceRef `json:"subscribe,omitempty"`
}

// ResourceStatus is how a resource fares over its nodes.
type ResourceStatus struct {
	// observedGeneration is the generation of the spec that the rest speaks of; -1 before the
	// manager has looked at any.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// appliedGeneration is the last generation that every selected node has applied,
	// or tried to.
	// +optional
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// nodes counts the selected nodes by the state of this resource on them.
	// +optional
	Nodes *NodeCounts `json:"nodes,omitempty"`

	// samples are nodes where it is not in sync, failures first.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=10
	Samples []NodeSample `json:"samples,omitempty"`

	// conditions are Ready, Reconciling, Stalled and, where another resource claims
	// the same thing, Conflict.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeCounts counts nodes. Every selected node is in exactly one of the others.
type NodeCounts struct {
	Selected  int32 `json:"selected"`
	InSync    int32 `json:"inSync"`
	OutOfSync int32 `json:"outOfSync"`
	Failed    int32 `json:"failed"`
	Skipped   int32 `json:"skipped"`
	Noop      int32 `json:"noop"`
	Pending   int32 `json:"pending"`
	// unknown are those whose agent has been silent for longer than its Lease lasts.
	// +optional
	Unknown int32 `json:"unknown"`
}

// NodeSample is one node and what is not in sync there.
type NodeSample struct {
	Node    string        `json:"node"`
	State   ResourceState `json:"state"`
	Message string        `json:"message,omitempty"`
}

// ResourceState is how a resource ended on a node, in the last run that looked at it.
// +kubebuilder:validation:MaxLength=32
type ResourceState string

// The states of a resource on a node.
const (
	StateInSync    ResourceState = "InSync"    // was as it should be
	StateChanged   ResourceState = "Changed"   // was changed and is now as it should be
	StateRefreshed ResourceState = "Refreshed" // was in sync, and reacted to a change elsewhere
	StateNoop      ResourceState = "Noop"      // is out of sync, and only reported
	StateSkipped   ResourceState = "Skipped"   // was not looked at: something it needs failed
	StateFailed    ResourceState = "Failed"    // could not be read, changed or refreshed
	StateWithheld  ResourceState = "Withheld"  // waits: contested, dangling, cyclic
	StatePending   ResourceState = "Pending"   // the node has not applied this generation yet
	StateUnknown   ResourceState = "Unknown"   // nothing was heard of the node's agent for too long
)
