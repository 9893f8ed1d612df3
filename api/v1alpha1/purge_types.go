package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PurgeSpec selects nodes and defines the objects to remove.
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy == 'Orphan'",message="deletionPolicy of a Purge must be Orphan, because removed objects cannot be restored"
// +kubebuilder:validation:XValidation:rule="self.kind in ['User', 'Group'] && (!has(self.unlessSystemUser) || self.unlessSystemUser || has(self.unlessUID) && size(self.unlessUID) > 0) || has(self.confirm) && self.confirm == self.kind",message="without an exclusion, all unmanaged objects of the kind are removed: for User and Group, set unlessSystemUser: true or unlessUID; to proceed, repeat kind in confirm"
type PurgeSpec struct {
	Targeting       `json:",inline"`
	PurgeAttributes `json:",inline"`
}

// PurgeAttributes defines the objects to remove.
type PurgeAttributes struct {
	// kind of the objects to remove. It must be a kind that can be listed and be absent, such as
	// User, Group or SSHAuthorizedKey. A node can have only one Purge for each kind.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="kind must be the name of a kind, such as User"
	// +kubebuilder:validation:XValidation:rule="!(self in ['Exec', 'Notify', 'Purge', 'SystemService', 'Tidy'])",message="kind must support ensure: absent: Exec, Notify, Purge, SystemService and Tidy do not"
	// +kubebuilder:validation:XValidation:rule="self != 'File'",message="kind must not be File, because not all files can be listed: use a File with recurse and purge, or a Tidy"
	// +kubebuilder:validation:XValidation:rule="self != 'Package'",message="kind must not be Package, because no resource manages the dependencies of packages"
	Kind string `json:"kind"`

	// unlessSystemUser excludes users and groups in the number range of system accounts. Defaults
	// to true.
	// +optional
	UnlessSystemUser *bool `json:"unlessSystemUser,omitempty"`

	// unlessUID excludes users or groups by number.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	UnlessUID []int64 `json:"unlessUID,omitempty"`

	// confirm must repeat kind before everything of that kind can be removed without an exclusion:
	// for User and Group if unlessSystemUser is false and unlessUID is empty, for other kinds
	// always.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Confirm *string `json:"confirm,omitempty"`
}

// Purge removes objects from hosts that no resource manages.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fpurge,categories=fettle
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
// +kubebuilder:printcolumn:name="Kind",type=string,priority=1,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Purge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec PurgeSpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// PurgeList is a list of Purges.
//
// +kubebuilder:object:root=true
type PurgeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Purge `json:"items"`
}
