package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UserSpec is what a User says.
// +kubebuilder:validation:XValidation:rule="!has(self.sshKeyFiles) || (has(self.purgeSSHKeys) && self.purgeSSHKeys)",message="sshKeyFiles needs purgeSSHKeys: true, which looks into them"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.passwordFrom))",message="password and passwordFrom exclude each other: keep one"
// +kubebuilder:validation:XValidation:rule="!has(self.moveHome) || !self.moveHome || has(self.home)",message="moveHome moves the home directory to home: add home, or remove moveHome"
// +kubebuilder:validation:XValidation:rule="!has(self.locked) || !has(self.password) || !self.password.startsWith('!')",message="a password that begins with ! is locked by itself: remove the !, or remove locked"
// +kubebuilder:validation:XValidation:rule="!has(self.ensure) || self.ensure != 'absent' || !(has(self.name) && self.name == 'root' || has(self.uid) && self.uid == 0) || has(self.confirm) && (!has(self.name) || self.confirm == self.name)",message="a host can't do without the superuser: to remove that account all the same, repeat its name in confirm"
// +kubebuilder:validation:XValidation:rule="!has(self.password) || self.password.matches('^([!*]+|[*][A-Z]+[*]|!*([$][0-9A-Za-z-]+[$][./0-9A-Za-z$=,+_-]+|_[./0-9A-Za-z]{19}|[./0-9A-Za-z]{13}))$')",message="password must be a hash as in /etc/shadow, or ! for none: make one with openssl passwd -6"
type UserSpec struct {
	Targeting      `json:",inline"`
	UserAttributes `json:",inline"`

	// passwordFrom takes the hash from a Secret; a change of that reaches the nodes.
	// +optional
	PasswordFrom *SecretSource `json:"passwordFrom,omitempty"`
}

// UserAttributes are a user account's. An attribute that is left out is not managed,
// but ensure: it is present where anything else is said.
type UserAttributes struct {
	// name of the account; metadata.name by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_.-]*[$]?$')",message="name must be a login name: letters, digits, _ . and -, not beginning with a digit or -"
	Name string `json:"name,omitempty"`

	// ensure is present (default) or absent.
	// +optional
	// +kubebuilder:validation:Enum=present;absent
	Ensure *string `json:"ensure,omitempty"`

	// uid is the account's number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967294
	UID *int64 `json:"uid,omitempty"`

	// gid is the primary group, by name or number. It must exist, or be made in the
	// same run.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	GID *intstr.IntOrString `json:"gid,omitempty"`

	// groups are supplementary groups, by name. An empty list with membership
	// inclusive means none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z_][A-Za-z0-9_.-]*[$]?$`
	Groups []string `json:"groups,omitzero"`
	// membership says whether the user is in these groups at least (minimum,
	// default) or in no others (inclusive).
	// +optional
	// +kubebuilder:validation:Enum=minimum;inclusive
	Membership *string `json:"membership,omitempty"`

	// home is the home directory's path. Changing it moves what is there only with moveHome.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^:\\\\n]*$')",message="home must be an absolute path without a colon"
	Home *string `json:"home,omitempty"`
	// manageHome makes the home directory with the account and removes it with it.
	// +optional
	ManageHome *bool `json:"manageHome,omitempty"`
	// moveHome moves the home directory with all that is in it when home changes. The new
	// path must not exist. Default false.
	// +optional
	MoveHome *bool `json:"moveHome,omitempty"`
	// comment is the full name or remark (GECOS).
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[:\\\\n]')",message="comment must not have a colon or a line break in it"
	Comment *string `json:"comment,omitempty"`
	// shell is the login shell, which must exist.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^:\\\\n]*$')",message="shell must be an absolute path without a colon"
	Shell *string `json:"shell,omitempty"`
	// password is the hash as /etc/shadow has it, never the password itself. The rule about its
	// form is the whole spec's: an error of a field quotes its value.
	// +optional
	// +kubebuilder:validation:Format=password
	// +kubebuilder:validation:MaxLength=1024
	Password *string `json:"password,omitempty"`
	// locked: true keeps anybody from logging in with the password, and keeps its hash;
	// false unlocks it. Other ways to log in, as by SSH keys, stay: use expiry to end those, too.
	// +optional
	Locked *bool `json:"locked,omitempty"`
	// passwordMinAge is how many days must lie between changes of the password; 0 and
	// -1 mean that it may be changed at any time.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2147483647
	PasswordMinAge *int64 `json:"passwordMinAge,omitempty"`
	// passwordMaxAge is after how many days the password must be changed; -1 is never.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2147483647
	PasswordMaxAge *int64 `json:"passwordMaxAge,omitempty"`
	// passwordWarnDays is how many days before that the user is warned; 0 is on that
	// day alone, -1 never.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=2147483647
	PasswordWarnDays *int64 `json:"passwordWarnDays,omitempty"`
	// expiry is the day from which on nobody can log in to the account, as YYYY-MM-DD,
	// or absent if there is none.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 'absent' || self.matches('^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$')",message="expiry must be a day as YYYY-MM-DD, 1970-01-01 or later, or absent"
	// +kubebuilder:validation:MaxLength=10
	Expiry *string `json:"expiry,omitempty"`

	// purgeSSHKeys removes the keys from sshKeyFiles that no SSHAuthorizedKey of the node
	// manages.
	// +optional
	PurgeSSHKeys *bool `json:"purgeSSHKeys,omitempty"`
	// sshKeyFiles are where the user's keys are: a path that begins with ~/ or %h/ is in
	// the home directory and the user's, another is root's. Default ~/.ssh/authorized_keys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.all(f, f.matches('^(~|%h)?/[^\\n]*[^/\\n]$'))",message="sshKeyFiles must be paths of files: absolute ones, or ones in the home directory that begin with ~/ or %h/"
	SSHKeyFiles []string `json:"sshKeyFiles,omitempty"`

	// system makes a system account when it makes one.
	// +optional
	System *bool `json:"system,omitempty"`
	// allowDupe lets uid be one that another account has.
	// +optional
	AllowDupe *bool `json:"allowDupe,omitempty"`

	// confirm repeats the account's name to have the superuser (root, or any account with
	// the number 0) removed, which is refused otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Confirm *string `json:"confirm,omitempty"`
}

// A User is a user account on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fuser,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="User",type=string,priority=1,JSONPath=`.spec.name`
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
