package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SystemServiceSpec selects nodes and defines the desired state on them.
// +kubebuilder:validation:XValidation:rule="!has(self.mask) || !self.mask || !has(self.enable) || !self.enable",message="mask: true cannot be combined with enable: true, because a masked service cannot start at boot: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.mask) || !self.mask || !has(self.ensure) || self.ensure != 'running'",message="mask: true cannot be combined with ensure: running, because a masked service cannot start: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.pattern) || (has(self.hasStatus) && !self.hasStatus)",message="pattern requires hasStatus: false: set it, or remove pattern"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.hasStatus) || self.hasStatus",message="status cannot be combined with hasStatus: false: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.restart) || !has(self.reloadOnRefresh) || !self.reloadOnRefresh",message="restart cannot be combined with reloadOnRefresh: true: remove one of them"
type SystemServiceSpec struct {
	Targeting               `json:",inline"`
	SystemServiceAttributes `json:",inline"`
}

// SystemServiceAttributes is the desired state of a service. Attributes that are not set are not
// managed.
type SystemServiceAttributes struct {
	// name of the service, for systemd a unit with or without .service. Defaults to metadata.name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9:_.@][A-Za-z0-9:_.@-]*$')",message="name must be a unit name, such as nginx or nginx.service"
	Name string `json:"name,omitempty"`

	// ensure is running or stopped.
	// +optional
	// +kubebuilder:validation:Enum=running;stopped
	Ensure *string `json:"ensure,omitempty"`
	// enable defines whether the service starts at boot.
	// +optional
	Enable *bool `json:"enable,omitempty"`
	// mask defines whether the service is masked, which prevents it from being started.
	// +optional
	Mask *bool `json:"mask,omitempty"`
	// start is a command that starts the service instead of the init system. This and the other
	// commands are split into words by POSIX quoting and run without a shell. A line that only a
	// shell understands is refused.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Start *string `json:"start,omitempty"`
	// stop is a command that stops the service.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Stop *string `json:"stop,omitempty"`
	// restart is a command that restarts the service when it is notified.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Restart *string `json:"restart,omitempty"`
	// status is a command that exits with 0 if the service is running. It must not change anything.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Status *string `json:"status,omitempty"`
	// hasRestart set to false restarts the service by stopping and starting it. Init scripts are
	// only asked to restart if it is true, because not all of them can.
	// +optional
	HasRestart *bool `json:"hasRestart,omitempty"`
	// hasStatus set to false detects the service by its process instead of asking the init system.
	// Defaults to true.
	// +optional
	HasStatus *bool `json:"hasStatus,omitempty"`
	// pattern is a regular expression for the command line of the service's process, used if
	// hasStatus is false. Defaults to the name of the service.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Pattern *string `json:"pattern,omitempty"`
	// reloadOnRefresh reloads the service instead of restarting it when it is notified. A service
	// that cannot reload is restarted. Defaults to false.
	// +optional
	ReloadOnRefresh *bool `json:"reloadOnRefresh,omitempty"`
}

// SystemService manages a service of the host's init system.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fsvc,categories=fettle
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
// +kubebuilder:printcolumn:name="Service",type=string,priority=1,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type SystemService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec SystemServiceSpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// SystemServiceList is a list of SystemServices.
//
// +kubebuilder:object:root=true
type SystemServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SystemService `json:"items"`
}
