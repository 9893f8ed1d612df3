package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PackageSpec selects nodes and defines the desired state on them.
// +kubebuilder:validation:XValidation:rule="!has(self.mark) || self.mark != 'hold' || !has(self.ensure) || !(self.ensure in ['absent', 'purged'])",message="mark: hold cannot be combined with ensure: absent or purged: remove mark, or change ensure"
type PackageSpec struct {
	Targeting         `json:",inline"`
	PackageAttributes `json:",inline"`
}

// PackageAttributes is the desired state of a software package. Attributes that are not set are not
// managed, except that ensure defaults to present.
type PackageAttributes struct {
	// name of the package. Defaults to metadata.name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^-\\\\s][^\\\\s]*$')",message="name must not start with - or contain white space"
	Name string `json:"name,omitempty"`

	// ensure is present (or installed), latest, absent, purged (absent, including configuration
	// files), a version, or a range of versions: one or two bounds separated by a space, for
	// example ">=1.0 <2.0". Defaults to present.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9.+~:_-]*$') || self.matches('^(<=|>=|<|>|=)[A-Za-z0-9][A-Za-z0-9.+~:_-]*( (<=|>=|<|>|=)[A-Za-z0-9][A-Za-z0-9.+~:_-]*)?$')",message="ensure must be present, installed, latest, absent, purged, a version, or a range of versions such as >=1.0 <2.0"
	// +kubebuilder:validation:XValidation:rule="self != 'held'",message="held is Puppet's form: write mark: hold, and present or a version in ensure"
	Ensure *string `json:"ensure,omitempty"`

	// mark is hold to prevent upgrades and removal of the package, or none to allow them.
	// +optional
	// +kubebuilder:validation:Enum=hold;none
	Mark *string `json:"mark,omitempty"`

	// source is the path of a package file on the host, which is installed instead of a package
	// from the index. Its package must be the one in name.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[^/\\n]+)+[.]deb$') && !self.matches('/[.][.]?/')",message="source must be an absolute path without . or .. that ends in .deb"
	Source *string `json:"source,omitempty"`
	// responseFile is the path of a file on the host with debconf answers. It is loaded before the
	// package is installed, removed or purged.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[^/\\n]+)+$') && !self.matches('/[.][.]?(/|$)')",message="responseFile must be an absolute path without . or .."
	ResponseFile *string `json:"responseFile,omitempty"`
	// allowVirtual allows name to be a virtual package that other packages provide. Defaults to
	// false.
	// +optional
	AllowVirtual *bool `json:"allowVirtual,omitempty"`
	// reinstallOnRefresh reinstalls the package when it is notified. Defaults to false.
	// +optional
	ReinstallOnRefresh *bool `json:"reinstallOnRefresh,omitempty"`
	// installOptions are additional arguments of the install command.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	InstallOptions []string `json:"installOptions,omitempty"`
	// uninstallOptions are additional arguments of the remove command.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	UninstallOptions []string `json:"uninstallOptions,omitempty"`
	// configFiles defines which version of a modified configuration file an upgrade leaves in
	// place: keep (the modified one) or replace (the new one). Defaults to keep.
	// +optional
	// +kubebuilder:validation:Enum=keep;replace
	ConfigFiles *string `json:"configFiles,omitempty"`
	// environment variables of the package commands, as KEY=value.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.matches('^[A-Za-z_][A-Za-z0-9_]*='))",message="environment must be a list of KEY=value, such as http_proxy=http://proxy:3128"
	// +kubebuilder:validation:items:MaxLength=4096
	Environment []string `json:"environment,omitempty"`
}

// Package manages a software package on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fpkg,categories=fettle
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
// +kubebuilder:printcolumn:name="Package",type=string,priority=1,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,priority=1,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Package struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec PackageSpec `json:"spec"`
	// +optional
	// +default={"observedGeneration": -1}
	Status ResourceStatus `json:"status,omitempty"`
}

// PackageList is a list of Packages.
//
// +kubebuilder:object:root=true
type PackageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Package `json:"items"`
}
