package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ExecSpec selects nodes and defines the command that they run.
// +kubebuilder:validation:XValidation:rule="!has(self.args) || !has(self.shell) || !self.shell",message="args and shell: true are mutually exclusive: write the arguments in command, or remove shell"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy == 'Orphan'",message="deletionPolicy of an Exec must be Orphan, because the effects of a command cannot be reverted"
// +kubebuilder:validation:XValidation:rule="!has(self.environment) || !has(self.environmentFrom) || !self.environment.exists(e, self.environmentFrom.exists(f, e.startsWith(f.name + '=')))",message="environment and environmentFrom must not set the same variable: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || self.provider != 'shell'",fieldPath=.provider,message="shell is Puppet's form: write shell: true"
type ExecSpec struct {
	Targeting      `json:",inline"`
	ExecAttributes `json:",inline"`

	// environmentFrom are environment variables with values from Secrets. The values are encrypted
	// for each node, and redacted in the command's output.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	EnvironmentFrom []EnvironmentSource `json:"environmentFrom,omitempty"`
}

// EnvironmentSource is an environment variable with a value from a Secret.
type EnvironmentSource struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name         string `json:"name"`
	SecretSource `json:",inline"`
}

// ExecAttributes defines a command and when it runs. Without creates, onlyIf, unless and
// refreshOnly, it runs in every run of the agent.
type ExecAttributes struct {
	// command to run, split into words by POSIX quoting. Without shell, a line that only a shell
	// understands is refused. The first word is an absolute path or is looked up in path. If args
	// is set, command is the program alone and is not split.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Command string `json:"command"`
	// args are the arguments of command.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=16384
	Args []string `json:"args,omitempty"`
	// shell runs command, refresh, onlyIf and unless with /bin/sh -c. Defaults to false.
	// +optional
	Shell *bool `json:"shell,omitempty"`

	// creates lists files. The command runs only if none of them exist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.all(f, f.startsWith('/'))",message="creates must be absolute paths, such as /opt/app/installed"
	Creates []string `json:"creates,omitempty"`
	// onlyIf lists commands. The command runs only if all of them exit with 0. They also run in
	// noop.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=16384
	OnlyIf []string `json:"onlyIf,omitempty"`
	// unless lists commands. The command runs only if none of them exits with 0. They also run in
	// noop.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=16384
	Unless []string `json:"unless,omitempty"`
	// refreshOnly runs the command only when the Exec is notified. Defaults to false.
	// +optional
	RefreshOnly *bool `json:"refreshOnly,omitempty"`
	// refresh is a command that runs instead of command when the Exec is notified.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Refresh *string `json:"refresh,omitempty"`

	// returns lists the exit codes that mean success. Defaults to 0.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=255
	Returns []int32 `json:"returns,omitempty"`
	// tries is the maximum number of attempts. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Tries *int32 `json:"tries,omitempty"`
	// trySleepSeconds is the delay between attempts, as a number of seconds or with a unit, such as
	// 10m. Defaults to 0.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 3600 : self.matches('^([0-9]{1,9}w)?([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,10}s)?$') && self != ''",message="trySleepSeconds must be a number of seconds from 0 to 3600, or whole numbers with the units w, d, h, m and s, such as 10m"
	TrySleepSeconds *Seconds `json:"trySleepSeconds,omitempty"`
	// timeoutSeconds is the time limit of each attempt and each check, as a number of seconds or with
	// a unit, such as 1h; 0 disables the limit. Defaults to 300.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^([0-9]{1,9}w)?([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,10}s)?$') && self != ''",message="timeoutSeconds must be a number of seconds from 0 to 2147483647, or whole numbers with the units w, d, h, m and s, such as 1h"
	TimeoutSeconds *Seconds `json:"timeoutSeconds,omitempty"`

	// cwd is the working directory. Defaults to /.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="cwd must be absolute, such as /opt/app"
	Cwd *string `json:"cwd,omitempty"`
	// user that runs the command, by name or number. Defaults to root.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	User *intstr.IntOrString `json:"user,omitempty"`
	// group that runs the command, by name or number. Defaults to the user's primary group.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	Group *intstr.IntOrString `json:"group,omitempty"`
	// umask of the command, in octal. Defaults to the agent's.
	// +optional
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-7]{1,4}$')",message="umask must be octal, such as \"022\""
	Umask *string `json:"umask,omitempty"`
	// environment variables as KEY=value. The command gets these and PATH only. The values are
	// redacted in all output.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.matches('^[A-Za-z_][A-Za-z0-9_]*='))",message="environment must be a list of KEY=value"
	Environment []string `json:"environment,omitempty"`
	// path lists the directories that are searched for commands.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.all(d, d.startsWith('/'))",message="path must be a list of absolute directories, such as [/usr/bin, /bin]"
	Path []string `json:"path,omitempty"`
	// logOutput defines when the end of the command's output is reported: onFailure, always or
	// never. Defaults to onFailure.
	// +optional
	// +kubebuilder:validation:Enum=onFailure;always;never
	LogOutput *string `json:"logOutput,omitempty"`
}

// Exec runs a command on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fexec,categories=fettle
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
// +kubebuilder:printcolumn:name="Command",type=string,priority=1,JSONPath=`.spec.command`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Exec struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ExecSpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// ExecList is a list of Execs.
//
// +kubebuilder:object:root=true
type ExecList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Exec `json:"items"`
}
