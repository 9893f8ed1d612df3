package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// ExternalDSC is a command resource of DSC v3. `fettle type build` writes it from the manifest of the resource.
type ExternalDSC struct {
	// manifest is the manifest of the resource without its schema. An executable with a slash is a
	// file of the source; any other is searched for on the host.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest *runtime.RawExtension `json:"manifest"`
	// manifestPath is the name of the manifest among the files of the source, for commands that get
	// its path.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ManifestPath string `json:"manifestPath,omitempty"`
	// schema is the JSON schema of desired states if the schemas of the attributes cannot express all
	// of it. It has no references.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Schema *runtime.RawExtension `json:"schema,omitempty"`
	// existence is the property that says whether the resource exists: _exist, or a text property with
	// the values Present and Absent. If absent, resources always exist.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Existence string `json:"existence,omitempty"`
	// existenceValues are the values of that property by the values of ensure, such as present: Present.
	// _exist needs none.
	// +optional
	// +kubebuilder:validation:MaxProperties=17
	ExistenceValues map[string]string `json:"existenceValues,omitempty"`
	// purge means that the attribute purge is the property _purge of DSC.
	// +optional
	Purge bool `json:"purge,omitempty"`
	// compare is how resources are compared that do not say it. Properties, the default, compares the
	// properties that get returns. Test asks the resource's own test.
	// +optional
	Compare ExternalComparison `json:"compare,omitempty"`
	// emptyIsUnset makes null, the empty text and the empty list equal, as in PowerShell.
	// +optional
	EmptyIsUnset bool `json:"emptyIsUnset,omitempty"`
	// singleton means that a host has exactly one such resource, which no property identifies. Its
	// Namevar is not sent.
	// +optional
	Singleton bool `json:"singleton,omitempty"`
	// named means that no property identifies a resource: each object is a resource of its own. Its
	// Namevar is not sent, and get and delete get the desired state.
	// +optional
	Named bool `json:"named,omitempty"`
	// validationMode means that the attribute validationMode says how a resource is compared: property
	// or resource.
	// +optional
	ValidationMode bool `json:"validationMode,omitempty"`
	// adapted is the resource of an adapter, if the manifest describes an adapter.
	// +optional
	Adapted *ExternalDSCAdapted `json:"adapted,omitempty"`
}

// ExternalComparison is how a DSC resource is compared.
// +kubebuilder:validation:Enum=Properties;Test
type ExternalComparison string

// Comparisons of DSC resources.
const (
	CompareProperties ExternalComparison = "Properties"
	CompareTest       ExternalComparison = "Test"
)

// ExternalDSCAdapted is a resource that an adapter manages.
type ExternalDSCAdapted struct {
	// type of the resource, such as Example/Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type"`
	// path of the resource, as the adapter lists it, for commands that get it. A relative path is below
	// the source.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path,omitempty"`
	// version of the resource, or of its module.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`
	// content of the resource, for commands that get it.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Content *runtime.RawExtension `json:"content,omitempty"`
}
