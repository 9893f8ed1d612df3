package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResourceRef names a resource as Kind/metadata.name, for example File/motd.
// +kubebuilder:validation:MaxLength=317
type ResourceRef string

// Targeting has the fields that all kinds share: the nodes that a resource applies to, its order,
// and how the agent treats it.
// +kubebuilder:validation:XValidation:rule="!has(self.require) || self.require.all(r, r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))",fieldPath=.require,message="is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])",messageExpression="'\"' + self.require.filter(r, !r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))[0] + '\" is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])'"
// +kubebuilder:validation:XValidation:rule="!has(self.before) || self.before.all(r, r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))",fieldPath=.before,message="is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])",messageExpression="'\"' + self.before.filter(r, !r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))[0] + '\" is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])'"
// +kubebuilder:validation:XValidation:rule="!has(self.notify) || self.notify.all(r, r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))",fieldPath=.notify,message="is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])",messageExpression="'\"' + self.notify.filter(r, !r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))[0] + '\" is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])'"
// +kubebuilder:validation:XValidation:rule="!has(self.subscribe) || self.subscribe.all(r, r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))",fieldPath=.subscribe,message="is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])",messageExpression="'\"' + self.subscribe.filter(r, !r.matches('^[A-Z][A-Za-z0-9]*/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$'))[0] + '\" is not a kind and a metadata.name, such as Package/nginx (Puppet writes Package[nginx])'"
type Targeting struct {
	// nodeSelector selects nodes by label. {} selects every node.
	// +required
	NodeSelector *metav1.LabelSelector `json:"nodeSelector"`

	// when is a CEL expression over `facts` and `node` (name, labels, annotations). The resource
	// applies to a selected node only if it is true.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	When string `json:"when,omitempty"`

	// acceptSelfLabelledNodes allows a resource that uses a Secret to select nodes by values that a
	// node can set itself: labels that a kubelet may set, annotations and facts. An attacker who
	// controls one node can then obtain the Secret. Defaults to false.
	// +optional
	AcceptSelfLabelledNodes bool `json:"acceptSelfLabelledNodes,omitempty"`

	// noop reports differences without correcting them. true and false both override the setting of
	// the node.
	// +optional
	Noop *bool `json:"noop,omitempty"`

	// provider replaces the default provider of the host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Provider string `json:"provider,omitempty"`

	Edges `json:",inline"`

	// audit lists properties whose external changes are reported, whether or not the resource
	// manages them; `all` selects every property.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[a-z][A-Za-z0-9]*$`
	Audit []string `json:"audit,omitempty"`

	// schedule limits the times at which the resource is checked and corrected.
	// +optional
	Schedule *Schedule `json:"schedule,omitempty"`

	// logLevel is the level of the resource's events; failures always have the level err. Defaults
	// to notice.
	// +optional
	LogLevel LogLevel `json:"logLevel,omitempty"`

	// deletionPolicy defines what happens on a host when the resource is deleted or no longer
	// selects the node: Orphan leaves the managed object unchanged, Delete removes it, Restore
	// reverts it to its state before the resource. Defaults to Orphan.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// EdgeNames returns the names of the fields of Edges.
func EdgeNames() []string { return []string{"require", "before", "notify", "subscribe"} }

// Edges order a resource relative to other resources on the same node.
type Edges struct {
	// require lists resources that are applied before this one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Require []ResourceRef `json:"require,omitempty"`
	// before lists resources that are applied after this one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Before []ResourceRef `json:"before,omitempty"`
	// notify lists resources that are applied after this one, and refreshed if it changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Notify []ResourceRef `json:"notify,omitempty"`
	// subscribe lists resources that are applied before this one, and refresh it if they changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Subscribe []ResourceRef `json:"subscribe,omitempty"`
}

// ResourceStatus is the state of a resource across its nodes.
type ResourceStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 until the
	// manager has processed one.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// appliedGeneration is the latest generation that every selected node has applied, successfully
	// or not.
	// +optional
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// actingNode is the node that acts for a resource of a Remote type, which is then the only selected
	// one that counts.
	// +optional
	ActingNode string `json:"actingNode,omitempty"`

	// nodes counts the selected nodes by the state of the resource on them.
	// +optional
	Nodes *NodeCounts `json:"nodes,omitempty"`

	// samples are up to 10 nodes where the resource is not in sync, failures first.
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=10
	Samples []NodeSample `json:"samples,omitempty"`

	// drift sums up what the selected nodes recorded about drift in the last 30 days. It is absent if
	// they recorded none.
	// +optional
	Drift *ResourceDrift `json:"drift,omitempty"`

	// conditions are Ready, Reconciling, Stalled and, while another resource manages the same
	// object, Conflict.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeCounts counts nodes by state. Each selected node is counted in exactly one of the other
// fields except for outOfSync, which overlaps noop, skipped and failed as it does in RunCounts.
type NodeCounts struct {
	// selected nodes, in any state.
	Selected int32 `json:"selected"`
	// inSync nodes match the spec.
	InSync int32 `json:"inSync"`
	// outOfSync nodes are known to differ from the spec, whether the resource is noop, skipped or
	// failed there.
	OutOfSync int32 `json:"outOfSync"`
	// failed nodes could not read, change or refresh the resource.
	Failed int32 `json:"failed"`
	// skipped nodes did not check the resource, for example because a dependency failed.
	Skipped int32 `json:"skipped"`
	// noop nodes differ from the spec and only report it.
	Noop int32 `json:"noop"`
	// pending nodes have not applied the current generation yet.
	Pending int32 `json:"pending"`
	// disabled nodes had applied the spec when runs were disabled on them.
	// +optional
	Disabled int32 `json:"disabled"`
	// unknown nodes have an agent that has not renewed its Lease in time.
	// +optional
	Unknown int32 `json:"unknown"`
}

// ResourceDrift sums up how often something other than Fettle changed what a resource manages.
type ResourceDrift struct {
	// nodes on which the resource drifted.
	Nodes int32 `json:"nodes"`
	// count of times that the nodes found drift. Drift that is only reported counts once while it lasts.
	Count int64 `json:"count"`
	// uncorrected is the number of nodes whose last drift was only reported, or could not be corrected.
	Uncorrected int32 `json:"uncorrected"`
	// lastSeen is when a node last found drift.
	LastSeen metav1.Time `json:"lastSeen"`
}

// NodeSample is a node where the resource is not in sync.
type NodeSample struct {
	// node is the name of the node.
	Node string `json:"node"`
	// state of the resource on the node.
	State ResourceState `json:"state"`
	// message explains the state.
	Message string `json:"message,omitempty"`
}

// ResourceState is the result for a resource on a node, in the last run that checked it.
// +kubebuilder:validation:MaxLength=32
type ResourceState string

// States of a resource on a node.
const (
	StateInSync    ResourceState = "InSync"    // matched its desired state
	StateChanged   ResourceState = "Changed"   // was corrected and now matches
	StateRefreshed ResourceState = "Refreshed" // was in sync and reacted to a change of another resource
	StateNoop      ResourceState = "Noop"      // differs and is only reported
	StateSkipped   ResourceState = "Skipped"   // was not checked, for example because a dependency failed
	StateFailed    ResourceState = "Failed"    // could not be read, changed or refreshed
	StateWithheld  ResourceState = "Withheld"  // must not be applied: conflict, missing reference, cycle
	StatePending   ResourceState = "Pending"   // the node has not applied the current generation yet
	StateDisabled  ResourceState = "Disabled"  // was in sync when runs were disabled on the node
	StateUnknown   ResourceState = "Unknown"   // the agent has not renewed its Lease in time
)
