package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UserSpec selects nodes and defines the desired state on them.
// +kubebuilder:validation:XValidation:rule="!has(self.sshKeyFiles) || (has(self.purgeSSHKeys) && self.purgeSSHKeys)",message="sshKeyFiles requires purgeSSHKeys: true: set it, or remove sshKeyFiles"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="password and passwordFrom are mutually exclusive: set only one"
// +kubebuilder:validation:XValidation:rule="!has(self.moveHome) || !self.moveHome || has(self.home)",message="moveHome requires home: set it, or remove moveHome"
// +kubebuilder:validation:XValidation:rule="!has(self.locked) || !has(self.password) || !self.password.startsWith('!')",message="password must not start with ! if locked is set: remove the !, or remove locked"
// +kubebuilder:validation:XValidation:rule="!has(self.ensure) || self.ensure != 'absent' || !(has(self.name) && self.name == 'root' || has(self.uid) && self.uid == 0) || has(self.confirm) && (!has(self.name) || self.confirm == self.name)",message="ensure: absent would remove the superuser: to proceed, repeat its name in confirm"
// +kubebuilder:validation:XValidation:rule="!has(self.password) || self.password.matches('^([!*]+|[*][A-Z]+[*]|!*([$][0-9A-Za-z-]+[$][./0-9A-Za-z$=,+_-]+|_[./0-9A-Za-z]{19}|[./0-9A-Za-z]{13}))$')",message="password must be a hash as in /etc/shadow, or ! for no password: create one with openssl passwd -6"
type UserSpec struct {
	Targeting      `json:",inline"`
	UserAttributes `json:",inline"`

	// passwordFrom references a Secret with the password hash. A change of the Secret is applied to
	// the nodes.
	// +optional
	PasswordFrom *SecretSource `json:"passwordFrom,omitempty"`
}

// UserAttributes is the desired state of a user account. Attributes that are not set are not
// managed, except that ensure defaults to present if any other property is set.
type UserAttributes struct {
	// name of the account. Defaults to metadata.name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="name must be a login name: letters, digits, _ . and -, not starting with a digit or -"
	Name string `json:"name,omitempty"`

	// ensure is present or absent. Defaults to present.
	// +optional
	// +kubebuilder:validation:Enum=present;absent
	Ensure *string `json:"ensure,omitempty"`

	// uid is the number of the account.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967294
	UID *int64 `json:"uid,omitempty"`

	// gid is the primary group, by name or number. The group must exist or be created in the same
	// run.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	GID *intstr.IntOrString `json:"gid,omitempty"`

	// groups are supplementary groups, by name. An empty list with membership: inclusive removes
	// the user from all groups.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="groups must be names of groups: letters, digits, _ . and -, not starting with a digit or -"
	Groups []string `json:"groups,omitzero"`
	// membership is minimum if the user may be in other groups than those listed, inclusive if not.
	// Defaults to minimum.
	// +optional
	// +kubebuilder:validation:Enum=minimum;inclusive
	Membership *string `json:"membership,omitempty"`

	// home is the path of the home directory. A change moves the directory's contents only with
	// moveHome.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^:\\\\n]*$')",message="home must be an absolute path without a colon"
	Home *string `json:"home,omitempty"`
	// manageHome creates and removes the home directory together with the account. Defaults to
	// false.
	// +optional
	ManageHome *bool `json:"manageHome,omitempty"`
	// moveHome moves the home directory and its contents when home changes. The new path must not
	// exist. Defaults to false.
	// +optional
	MoveHome *bool `json:"moveHome,omitempty"`
	// comment is the full name or a remark (GECOS).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[:[:cntrl:]]')",message="comment must not contain a colon, a line break or another control character"
	Comment *string `json:"comment,omitempty"`
	// shell is the login shell, which must exist.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^:\\\\n]*$')",message="shell must be an absolute path without a colon"
	Shell *string `json:"shell,omitempty"`
	// password is the hash for /etc/shadow, never the password itself. Its format is validated by a
	// rule on the spec, because the error of a field would quote its value.
	// +optional
	// +kubebuilder:validation:Format=password
	// +kubebuilder:validation:MaxLength=1024
	Password *string `json:"password,omitempty"`
	// locked disables (true) or enables (false) login by password and preserves the hash. Other
	// ways to log in, such as SSH keys, are not affected; use expiry to disable them as well.
	// +optional
	Locked *bool `json:"locked,omitempty"`
	// passwordMinAge is the minimum number of days between password changes; 0 and -1 allow a
	// change at any time.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2147483647
	PasswordMinAge *int64 `json:"passwordMinAge,omitempty"`
	// passwordMaxAge is the number of days after which the password must be changed; -1 means
	// never.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2147483647
	PasswordMaxAge *int64 `json:"passwordMaxAge,omitempty"`
	// passwordWarnDays is the number of days before passwordMaxAge on which the user is warned; 0
	// warns on the last day only, -1 never.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2147483647
	PasswordWarnDays *int64 `json:"passwordWarnDays,omitempty"`
	// expiry is the day on which the account expires, as YYYY-MM-DD, or absent for no expiry.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 'absent' || self.matches('^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$')",message="expiry must be a date as YYYY-MM-DD, not before 1970-01-01, or absent: quote it, because kustomize turns a plain date into a timestamp"
	// +kubebuilder:validation:MaxLength=40
	Expiry *string `json:"expiry,omitempty"`

	// purgeSSHKeys removes keys from sshKeyFiles that no SSHAuthorizedKey on the node manages.
	// Defaults to false.
	// +optional
	PurgeSSHKeys *bool `json:"purgeSSHKeys,omitempty"`
	// sshKeyFiles are the authorized_keys files of the user. A path that starts with ~/ or %h/ is
	// in the home directory and belongs to the user; other files belong to root. Defaults to
	// ~/.ssh/authorized_keys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.all(f, f.matches('^(~|%h)?/[^\\n]*[^/\\n]$'))",message="sshKeyFiles must be absolute paths of files, or paths that start with ~/ or %h/"
	SSHKeyFiles []string `json:"sshKeyFiles,omitempty"`

	// system creates the account as a system account. Defaults to false.
	// +optional
	System *bool `json:"system,omitempty"`
	// allowDupe allows a uid that another account has. Defaults to false.
	// +optional
	AllowDupe *bool `json:"allowDupe,omitempty"`

	// confirm must repeat the account's name before the superuser (root, or any account with uid 0)
	// can be removed.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Confirm *string `json:"confirm,omitempty"`
}

// User manages a user account on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fuser,categories=fettle
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
// +kubebuilder:printcolumn:name="User",type=string,priority=1,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type User struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec UserSpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// UserList is a list of Users.
//
// +kubebuilder:object:root=true
type UserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []User `json:"items"`
}
