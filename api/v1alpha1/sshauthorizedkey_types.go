package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SSHAuthorizedKeySpec selects nodes and defines the desired state on them.
// +kubebuilder:validation:XValidation:rule="has(self.user) || has(self.target)",message="user or target is required: the owner of the key, or the path of its file"
// +kubebuilder:validation:XValidation:rule="(has(self.ensure) && self.ensure == 'absent') || (has(self.type) && has(self.key))",message="type and key are required, unless ensure is absent"
type SSHAuthorizedKeySpec struct {
	Targeting                  `json:",inline"`
	SSHAuthorizedKeyAttributes `json:",inline"`
}

// SSHAuthorizedKeyAttributes is the desired state of a public key in an authorized_keys file. Other
// lines of the file are not changed.
type SSHAuthorizedKeyAttributes struct {
	// name is the comment of the key, which identifies it in its file. Defaults to metadata.name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ \\t\\r\\n]([^\\r\\n]*[^ \\t\\r\\n])?$')",message="name must be one line without leading or trailing spaces, such as ann@laptop"
	Name string `json:"name,omitempty"`

	// ensure is present or absent. Defaults to present.
	// +optional
	// +kubebuilder:validation:Enum=present;absent
	Ensure *string `json:"ensure,omitempty"`

	// user who can log in with the key and owns the file. The user must exist or be created in the
	// same run.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="user must be a login name: letters, digits, _ . and -, not starting with a digit or -"
	User *string `json:"user,omitempty"`
	// target is the path of the file. Defaults to .ssh/authorized_keys in the home directory of
	// user. Without user, the file belongs to root and must be in directories that only root can
	// write to.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^\\n]*[^/\\n]$')",message="target must be the absolute path of a file, such as /etc/ssh/authorized_keys.d/ann"
	Target *string `json:"target,omitempty"`

	// type of the key: the first word of the public key file. rsa, dsa, ed25519, ecdsa-sk and
	// ed25519-sk are abbreviations.
	// +optional
	// +kubebuilder:validation:Enum=ssh-rsa;ssh-dss;ssh-ed25519;ecdsa-sha2-nistp256;ecdsa-sha2-nistp384;ecdsa-sha2-nistp521;sk-ecdsa-sha2-nistp256@openssh.com;sk-ssh-ed25519@openssh.com;rsa;dsa;ed25519;ecdsa-sk;ed25519-sk
	Type *string `json:"type,omitempty"`
	// key is the base64-encoded key: the second word of the public key file.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9+/]+=*$')",message="key must be only the base64 part of the public key file: its second word, without type and comment"
	Key *string `json:"key,omitempty"`
	// options of the key, complete and in order. An empty list removes all options.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.all(o, o.matches('^[A-Za-z0-9-]+(=\"[^\\r\\n]*\")?$'))",message="options must each be a word such as no-pty, or a word, = and a value in double quotes"
	Options []string `json:"options,omitzero"`
}

// SSHAuthorizedKey manages a public key with which a user can log in to hosts by SSH.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fssh,categories=fettle
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
// +kubebuilder:printcolumn:name="Key",type=string,priority=1,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type SSHAuthorizedKey struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec SSHAuthorizedKeySpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// SSHAuthorizedKeyList is a list of SSHAuthorizedKeys.
//
// +kubebuilder:object:root=true
type SSHAuthorizedKeyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SSHAuthorizedKey `json:"items"`
}
