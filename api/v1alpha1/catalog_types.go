package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Catalog is the resources of one targeting: all that have the same nodeSelector
// and when. It is immutable and named by the SHA-256 of its entries, so that any
// number of nodes share it and a copy on disk is known to be right.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=fcat,categories=fettle
// +kubebuilder:printcolumn:name="Entries",type=integer,JSONPath=`.count`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.entries == oldSelf.entries",message="a Catalog is immutable: make another, its name is its content's hash"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^sha256-[0-9a-f]{64}$')",message="a Catalog is named sha256- and the hash of its entries"
type Catalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// count is the number of entries.
	// +optional
	Count int32 `json:"count,omitempty"`
	// entries are the resources, by kind and name.
	// +required
	// +listType=atomic
	Entries []CatalogEntry `json:"entries"`
}

// CatalogEntry is one resource of a catalog.
type CatalogEntry struct {
	// kind of the resource.
	Kind string `json:"kind"`
	// name is its metadata.name.
	Name string `json:"name"`
	// namevar is what it is called on the host.
	// +optional
	Namevar string `json:"namevar,omitempty"`
	// noop as the resource says; absent takes the node's.
	// +optional
	Noop *bool `json:"noop,omitempty"`
	// provider as the resource says; absent takes the host's default.
	// +optional
	Provider string `json:"provider,omitempty"`
	// audit lists the properties whose changes are reported, or all.
	// +optional
	// +listType=atomic
	Audit []string `json:"audit,omitempty"`
	// schedule as the resource says, whose own schema has its rules; absent is any time.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Schedule *Schedule `json:"schedule,omitempty"`
	// logLevel as the resource says; absent is notice.
	// +optional
	LogLevel LogLevel `json:"logLevel,omitempty"`
	// deletionPolicy as the resource says; absent is Orphan.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// edges to other resources.
	// +optional
	Edges *Edges `json:"edges,omitempty"`
	// attributes of the kind.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Attributes *runtime.RawExtension `json:"attributes,omitempty"`
	// sealed are attributes whose values the node alone can read.
	// +optional
	// +listType=map
	// +listMapKey=attribute
	Sealed []SealedValue `json:"sealed,omitempty"`
}

// A SealedValue is the value of an attribute, sealed for one node: it opens for that node,
// resource and attribute alone.
type SealedValue struct {
	// attribute whose value it is.
	Attribute string `json:"attribute"`
	// from is where the value came from.
	From SealedFrom `json:"from"`
	// key is the fingerprint of the public key that it is sealed to, as sha256-...
	Key string `json:"key"`
	// value as it is sealed.
	Value []byte `json:"value"`
}

// SealedFrom is a key of a Secret, in one version.
type SealedFrom struct {
	KeyRef `json:",inline"`
	// version of the Secret when the value last changed.
	Version string `json:"version"`
}

// Ref is Kind/name.
func (e CatalogEntry) Ref() ResourceRef { return ResourceRef(e.Kind + "/" + e.Name) }

// CatalogList is a list of Catalogs.
//
// +kubebuilder:object:root=true
type CatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Catalog `json:"items"`
}
