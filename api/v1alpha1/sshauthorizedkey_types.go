package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SSHAuthorizedKeySpec is what a SSHAuthorizedKey says.
// +kubebuilder:validation:XValidation:rule="has(self.user) || has(self.target)",message="user or target is needed: whose key it is, or in which file"
// +kubebuilder:validation:XValidation:rule="(has(self.ensure) && self.ensure == 'absent') || (has(self.type) && has(self.key))",message="type and key are needed, unless ensure is absent"
type SSHAuthorizedKeySpec struct {
	Targeting                  `json:",inline"`
	SSHAuthorizedKeyAttributes `json:",inline"`
}

// SSHAuthorizedKeyAttributes are those of a public key with which a user may log in by
// SSH. Other lines of the file stay as they are.
type SSHAuthorizedKeyAttributes struct {
	// name is the comment of the key, by which it is known in its file; metadata.name
	// by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ \\t\\r\\n]([^\\r\\n]*[^ \\t\\r\\n])?$')",message="name must be one line without spaces around it, as ann@laptop"
	Name string `json:"name,omitempty"`

	// ensure is present (default) or absent.
	// +optional
	// +kubebuilder:validation:Enum=present;absent
	Ensure *string `json:"ensure,omitempty"`

	// user who may log in with it, whose the file is. It must exist, or be made in the
	// same run.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="user must be a login name: letters, digits, _ . and -, not beginning with a digit or -"
	User *string `json:"user,omitempty"`
	// target is the file's path; by default .ssh/authorized_keys in the home directory
	// of user. Without a user it is root's file, in directories of root alone.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^\\n]*[^/\\n]$')",message="target must be the absolute path of a file, as /etc/ssh/authorized_keys.d/ann"
	Target *string `json:"target,omitempty"`

	// type of the key: the first word of the public key's file, or rsa, dsa, ed25519,
	// ecdsa-sk or ed25519-sk for short.
	// +optional
	// +kubebuilder:validation:Enum=ssh-rsa;ssh-dss;ssh-ed25519;ecdsa-sha2-nistp256;ecdsa-sha2-nistp384;ecdsa-sha2-nistp521;sk-ecdsa-sha2-nistp256@openssh.com;sk-ssh-ed25519@openssh.com;rsa;dsa;ed25519;ecdsa-sk;ed25519-sk
	Type *string `json:"type,omitempty"`
	// key itself: the second word of the public key's file.
	// +optional
	// +kubebuilder:validation:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9+/]+=*$')",message="key must be base64 alone: the second word of the public key's file, without its type and comment"
	Key *string `json:"key,omitempty"`
	// options of the key, all of them and in this order; an empty list means none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.all(o, o.matches('^[A-Za-z0-9-]+(=\"[^\\r\\n]*\")?$'))",message="options must each be one: a word as no-pty, or a word, = and a value in double quotes"
	Options []string `json:"options,omitzero"`
}

// A SSHAuthorizedKey is a public key with which a user of hosts may log in by SSH.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fssh,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Key",type=string,priority=1,JSONPath=`.spec.name`
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
