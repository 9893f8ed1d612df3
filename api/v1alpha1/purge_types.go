package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PurgeSpec is what a Purge says.
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy == 'Orphan'",message="deletionPolicy of kind Purge can only be Orphan: what it removed does not come back"
// +kubebuilder:validation:XValidation:rule="self.kind in ['User', 'Group'] && (!has(self.unlessSystemUser) || self.unlessSystemUser || has(self.unlessUID) && size(self.unlessUID) > 0) || has(self.confirm) && self.confirm == self.kind",message="this purges everything of the kind that no resource manages, without an exception: add one by unlessSystemUser or unlessUID where the kind is User or Group, or, if that is intended, repeat kind in confirm"
type PurgeSpec struct {
	Targeting       `json:",inline"`
	PurgeAttributes `json:",inline"`
}

// PurgeAttributes say what is purged.
type PurgeAttributes struct {
	// kind of which everything that no resource manages goes away: one that can be listed
	// and be absent, such as User, Group or SSHAuthorizedKey. One Purge of a kind on a node.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="kind must be the name of a kind, as User"
	// +kubebuilder:validation:XValidation:rule="!(self in ['Exec', 'Notify', 'Purge', 'SystemService', 'Tidy'])",message="kind must be of what can be absent: Exec, Notify, Purge, SystemService and Tidy can't"
	// +kubebuilder:validation:XValidation:rule="self != 'File'",message="kind File can't be listed: use recurse and purge of a File, or a Tidy"
	// +kubebuilder:validation:XValidation:rule="self != 'Package'",message="kind Package can't be purged: what a managed package depends on is managed by none"
	Kind string `json:"kind"`

	// unlessSystemUser spares users and groups with the numbers of system accounts.
	// Default true.
	// +optional
	UnlessSystemUser *bool `json:"unlessSystemUser,omitempty"`

	// unlessUID spares the users, or groups, with these numbers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	UnlessUID []int64 `json:"unlessUID,omitempty"`

	// confirm repeats the kind to have everything of it purged without an exception: of User
	// and Group with unlessSystemUser: false and no unlessUID, and of every other kind.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Confirm *string `json:"confirm,omitempty"`
}

// A Purge removes what exists on hosts and no resource manages.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fpurge,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Kind",type=string,priority=1,JSONPath=`.spec.kind`
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
