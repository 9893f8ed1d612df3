package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ExecSpec is what an Exec says.
// +kubebuilder:validation:XValidation:rule="!has(self.args) || !has(self.shell) || !self.shell",message="args and shell: true exclude each other: a shell takes the whole line in command"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy == 'Orphan'",message="deletionPolicy of kind Exec can only be Orphan: a command leaves nothing that could be removed"
// +kubebuilder:validation:XValidation:rule="!has(self.environment) || !has(self.environmentFrom) || !self.environment.exists(e, self.environmentFrom.exists(f, e.startsWith(f.name + '=')))",message="environment and environmentFrom must not have a variable in common: keep one"
type ExecSpec struct {
	Targeting      `json:",inline"`
	ExecAttributes `json:",inline"`

	// environmentFrom are variables of the environment whose values come from Secrets. They
	// are sealed for each node, and replaced by a mark in all output of the command.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	EnvironmentFrom []EnvironmentSource `json:"environmentFrom,omitempty"`
}

// EnvironmentSource is a variable of the environment whose value comes from a Secret.
type EnvironmentSource struct {
	// name of the variable.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name         string `json:"name"`
	SecretSource `json:",inline"`
}

// ExecAttributes are a command's. Without creates, onlyIf, unless and refreshOnly it is
// run every time.
type ExecAttributes struct {
	// command to run: split into words by POSIX quoting, without any expansion. Its
	// first word is absolute, or is looked for in path. With args it is the file alone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Command string `json:"command"`
	// args are the words that follow the command, which then is not split.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=16384
	Args []string `json:"args,omitempty"`
	// shell runs command, refresh and the checks by /bin/sh -c. Default false.
	// +optional
	Shell *bool `json:"shell,omitempty"`

	// creates: the command is run only if none of these files exist.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.all(f, f.startsWith('/'))",message="creates must be absolute paths, as /opt/app/installed"
	Creates []string `json:"creates,omitempty"`
	// onlyIf: the command is run only if all of these, which are like command, exit
	// with 0. They are run in noop, too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=16384
	OnlyIf []string `json:"onlyIf,omitempty"`
	// unless: the command is run only if none of these, which are like command, exits
	// with 0. They are run in noop, too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=16384
	Unless []string `json:"unless,omitempty"`
	// refreshOnly runs the command only when the Exec is notified. Default false.
	// +optional
	RefreshOnly *bool `json:"refreshOnly,omitempty"`
	// refresh is run in place of command when the Exec is notified.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Refresh *string `json:"refresh,omitempty"`

	// returns are the exit codes that mean success. Default 0.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=255
	Returns []int32 `json:"returns,omitempty"`
	// tries is how often the command is run until it succeeds. Default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Tries *int32 `json:"tries,omitempty"`
	// trySleepSeconds is the pause between two tries. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	TrySleepSeconds *int32 `json:"trySleepSeconds,omitempty"`
	// timeoutSeconds is how long each try and each check may take; 0 is as long as it
	// likes. Default 300.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// cwd is the directory to run in. Default /.
	// +optional
	// +kubebuilder:validation:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="cwd must be absolute, as /opt/app"
	Cwd *string `json:"cwd,omitempty"`
	// user to run as, by name or number. Default root.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	User *intstr.IntOrString `json:"user,omitempty"`
	// group to run as, by name or number. Default the user's own.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) != int || (self >= 0 && self <= 2147483647)",message="must be a name or a number from 0 to 2147483647"
	Group *intstr.IntOrString `json:"group,omitempty"`
	// umask of the command, in octal. Default the agent's.
	// +optional
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-7]{1,4}$')",message="umask must be octal, as \"022\""
	Umask *string `json:"umask,omitempty"`
	// environment as KEY=value: beside PATH there is nothing else in it. The values are
	// kept out of all output.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.matches('^[A-Za-z_][A-Za-z0-9_]*='))",message="environment must be a list of KEY=value"
	Environment []string `json:"environment,omitempty"`
	// path are the directories where commands are looked for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4095
	// +kubebuilder:validation:XValidation:rule="self.all(d, d.startsWith('/'))",message="path must be a list of absolute directories, as [/usr/bin, /bin]"
	Path []string `json:"path,omitempty"`
	// logOutput is when the end of the command's output is told: onFailure (default),
	// always or never.
	// +optional
	// +kubebuilder:validation:Enum=onFailure;always;never
	LogOutput *string `json:"logOutput,omitempty"`
}

// An Exec is a command that is run on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fexec,categories=fettle
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Command",type=string,priority=1,JSONPath=`.spec.command`
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
