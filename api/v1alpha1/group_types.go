package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GroupSpec is what a Group says.
type GroupSpec struct {
	Targeting       `json:",inline"`
	GroupAttributes `json:",inline"`
}

// GroupAttributes are a group's. An attribute that is left out is not managed, but
// ensure: it is present.
type GroupAttributes struct {
	// name of the group; metadata.name by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="name must be a group name: letters, digits, _ . and -, not beginning with a digit or -"
	Name string `json:"name,omitempty"`

	// ensure is present (default) or absent.
	// +optional
	// +kubebuilder:validation:Enum=present;absent
	Ensure *string `json:"ensure,omitempty"`

	// gid is the group's number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967294
	GID *int64 `json:"gid,omitempty"`

	// members are users who have the group as a supplementary one, by name. Each must
	// exist, or be made in the same run. An empty list with authMembership means none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z_][A-Za-z0-9_.-]*[$]?$`
	Members []string `json:"members,omitzero"`
	// authMembership makes members all that the group has: others are taken out. By
	// default they stay.
	// +optional
	AuthMembership *bool `json:"authMembership,omitempty"`

	// system makes a system group when it makes one.
	// +optional
	System *bool `json:"system,omitempty"`
	// allowDupe lets gid be one that another group has.
	// +optional
	AllowDupe *bool `json:"allowDupe,omitempty"`
}

// A Group is a group of users on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fgroup,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Group",type=string,priority=1,JSONPath=`.spec.name`
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
