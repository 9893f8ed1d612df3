package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GroupSpec selects nodes and defines the desired state on them.
type GroupSpec struct {
	Targeting       `json:",inline"`
	GroupAttributes `json:",inline"`
}

// GroupAttributes is the desired state of a group. Attributes that are not set are not managed,
// except that ensure defaults to present.
type GroupAttributes struct {
	// name of the group. Defaults to metadata.name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="name must be a group name: letters, digits, _ . and -, not starting with a digit or -"
	Name string `json:"name,omitempty"`

	// ensure is present or absent. Defaults to present.
	// +optional
	// +kubebuilder:validation:Enum=present;absent
	Ensure *string `json:"ensure,omitempty"`

	// gid is the number of the group.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967294
	GID *int64 `json:"gid,omitempty"`

	// members are users who have the group as a supplementary group, by name. They must exist or be
	// created in the same run. An empty list with authMembership removes all members.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="members must be names of users: letters, digits, _ . and -, not starting with a digit or -"
	Members []string `json:"members,omitzero"`
	// authMembership removes users who are not listed in members. Defaults to false.
	// +optional
	AuthMembership *bool `json:"authMembership,omitempty"`

	// system creates the group as a system group. Defaults to false.
	// +optional
	System *bool `json:"system,omitempty"`
	// allowDupe allows a gid that another group has. Defaults to false.
	// +optional
	AllowDupe *bool `json:"allowDupe,omitempty"`
}

// Group manages a group of users on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fgroup,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="Pending",type=integer,JSONPath=`.status.nodes.pending`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Skipped",type=integer,JSONPath=`.status.nodes.skipped`
// +kubebuilder:printcolumn:name="Noop",type=integer,JSONPath=`.status.nodes.noop`
// +kubebuilder:printcolumn:name="Disabled",type=integer,JSONPath=`.status.nodes.disabled`
// +kubebuilder:printcolumn:name="Unknown",type=integer,JSONPath=`.status.nodes.unknown`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Last drift",type=date,JSONPath=`.status.drift.lastSeen`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Group",type=string,priority=1,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec GroupSpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// GroupList is a list of Groups.
//
// +kubebuilder:object:root=true
type GroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Group `json:"items"`
}
