package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SystemServiceSpec is what a SystemService says.
// +kubebuilder:validation:XValidation:rule="!has(self.mask) || !self.mask || !has(self.enable) || !self.enable",message="mask: true can't go with enable: true: a masked service can't start at boot"
// +kubebuilder:validation:XValidation:rule="!has(self.mask) || !self.mask || !has(self.ensure) || self.ensure != 'running'",message="mask: true can't go with ensure: running: a masked service can't start"
// +kubebuilder:validation:XValidation:rule="!has(self.pattern) || (has(self.hasStatus) && !self.hasStatus)",message="pattern is for a service that can't say whether it runs: add hasStatus: false"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.hasStatus) || self.hasStatus",message="status can't go with hasStatus: false: leave one of them out"
// +kubebuilder:validation:XValidation:rule="!has(self.restart) || !has(self.reloadOnRefresh) || !self.reloadOnRefresh",message="restart can't go with reloadOnRefresh: true: leave one of them out"
type SystemServiceSpec struct {
	Targeting               `json:",inline"`
	SystemServiceAttributes `json:",inline"`
}

// SystemServiceAttributes are a service's. An attribute that is left out is not
// managed.
type SystemServiceAttributes struct {
	// name of the service: a unit, with or without .service; metadata.name by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9:_.@][A-Za-z0-9:_.@-]*$')",message="name must be a unit's name, as nginx or nginx.service"
	Name string `json:"name,omitempty"`

	// ensure is running or stopped, now.
	// +optional
	// +kubebuilder:validation:Enum=running;stopped
	Ensure *string `json:"ensure,omitempty"`
	// enable says whether it starts at boot.
	// +optional
	Enable *bool `json:"enable,omitempty"`
	// mask says whether it is made impossible to start.
	// +optional
	Mask *bool `json:"mask,omitempty"`
	// start is an own command that starts the service instead of the supervisor. It is
	// split into words by POSIX quoting and run without a shell; so are the others.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Start *string `json:"start,omitempty"`
	// stop is an own command that stops the service.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Stop *string `json:"stop,omitempty"`
	// restart is an own command that restarts the service when something notifies it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Restart *string `json:"restart,omitempty"`
	// status is an own command that only looks: the service runs if it exits with 0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Status *string `json:"status,omitempty"`
	// hasRestart false restarts the service by a stop and a start. Init scripts, which
	// need not know how to restart, are only asked to when it is true.
	// +optional
	HasRestart *bool `json:"hasRestart,omitempty"`
	// hasStatus false looks for a process instead of asking the supervisor.
	// +optional
	HasStatus *bool `json:"hasStatus,omitempty"`
	// pattern is a regular expression that the command line of the service's process
	// matches, for hasStatus: false; the service's name by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Pattern *string `json:"pattern,omitempty"`
	// reloadOnRefresh reloads instead of restarting when something notifies the
	// service. One that can't reload is restarted.
	// +optional
	ReloadOnRefresh *bool `json:"reloadOnRefresh,omitempty"`
}

// A SystemService is a service of the host's service supervisor.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fsvc,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Service",type=string,priority=1,JSONPath=`.spec.name`
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
