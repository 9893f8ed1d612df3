package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PackageSpec is what a Package says.
// +kubebuilder:validation:XValidation:rule="!has(self.mark) || self.mark != 'hold' || !has(self.ensure) || !(self.ensure in ['absent', 'purged'])",message="mark: hold can't go with ensure: absent or purged: nothing is there to hold"
type PackageSpec struct {
	Targeting         `json:",inline"`
	PackageAttributes `json:",inline"`
}

// PackageAttributes are a software package's. An attribute that is left out is not
// managed, but ensure: it is present, as in Puppet.
type PackageAttributes struct {
	// name of the package; metadata.name by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^-\\\\s][^\\\\s]*$')",message="name must not begin with - nor have white space in it"
	Name string `json:"name,omitempty"`

	// ensure is present (or installed), latest, absent, purged (configuration too),
	// the version to have, or a range of versions: one or two bounds with a space
	// between them, as ">=1.0 <2.0". Default present.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9.+~:_-]*$') || self.matches('^(<=|>=|<|>|=)[A-Za-z0-9][A-Za-z0-9.+~:_-]*( (<=|>=|<|>|=)[A-Za-z0-9][A-Za-z0-9.+~:_-]*)?$')",message="ensure must be present, installed, latest, absent, purged, a version or a range of versions as >=1.0 <2.0"
	Ensure *string `json:"ensure,omitempty"`

	// mark: hold keeps the package at its version, none lets it go.
	// +optional
	// +kubebuilder:validation:Enum=hold;none
	Mark *string `json:"mark,omitempty"`

	// source is the path, on the host, of a package that is installed in place of one
	// from the index. It must be the package that name says.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[^/\\n]+)+[.]deb$') && !self.matches('/[.][.]?/')",message="source must be an absolute path without . and .. that ends in .deb"
	Source *string `json:"source,omitempty"`
	// responseFile is the path, on the host, of a file with answers to the package's
	// questions. It is read before the package is installed, removed or purged.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[^/\\n]+)+$') && !self.matches('/[.][.]?(/|$)')",message="responseFile must be an absolute path without . and .."
	ResponseFile *string `json:"responseFile,omitempty"`
	// allowVirtual lets name be what other packages provide. Default false.
	// +optional
	AllowVirtual *bool `json:"allowVirtual,omitempty"`
	// reinstallOnRefresh installs the package again when something notifies it.
	// Default false.
	// +optional
	ReinstallOnRefresh *bool `json:"reinstallOnRefresh,omitempty"`
	// installOptions are further words for the tool's command to install.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	InstallOptions []string `json:"installOptions,omitempty"`
	// uninstallOptions are further words for the tool's command to remove.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	UninstallOptions []string `json:"uninstallOptions,omitempty"`
	// configFiles says what becomes of a changed configuration file when a package
	// brings a new one: keep (default) or replace.
	// +optional
	// +kubebuilder:validation:Enum=keep;replace
	ConfigFiles *string `json:"configFiles,omitempty"`
	// environment of the tool's commands, as KEY=value.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z_][A-Za-z0-9_]*=`
	// +kubebuilder:validation:items:MaxLength=4096
	Environment []string `json:"environment,omitempty"`
}

// A Package is a software package on hosts.
//
// +fettle:kind
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=fpkg,categories=fettle
// +kubebuilder:printcolumn:name="Ensure",type=string,JSONPath=`.spec.ensure`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.selected`
// +kubebuilder:printcolumn:name="InSync",type=integer,JSONPath=`.status.nodes.inSync`
// +kubebuilder:printcolumn:name="OutOfSync",type=integer,JSONPath=`.status.nodes.outOfSync`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.nodes.failed`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Package",type=string,priority=1,JSONPath=`.spec.name`
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
