package v1alpha1

import (
	"bytes"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Catalog contains the resources of one targeting: those with the same nodeSelector and the same
// `when`. A Catalog is immutable and named after the SHA-256 of its entries, so that nodes can
// share it and verify a cached copy.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=fcat,categories=fettle
// +kubebuilder:printcolumn:name="Entries",type=integer,JSONPath=`.count`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.entries == oldSelf.entries",message="entries are immutable: create another Catalog, named after the hash of its entries"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^sha256-[0-9a-f]{64}$')",message="metadata.name must be sha256- followed by the hash of the entries"
type Catalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// count is the number of entries.
	// +optional
	Count int32 `json:"count,omitempty"`
	// entries are the resources, sorted by kind and name.
	// +required
	// +listType=atomic
	Entries []CatalogEntry `json:"entries"`
}

// CatalogEntry is a resource in a catalog.
type CatalogEntry struct {
	// kind of the resource.
	Kind string `json:"kind"`
	// name is the metadata.name of the resource.
	Name string `json:"name"`
	// type is the ExternalType of the kind, as its name, @ and its digest. It is absent for built-in kinds.
	// +optional
	Type string `json:"type,omitempty"`
	// namevar identifies the managed object on the host.
	// +optional
	Namevar string `json:"namevar,omitempty"`
	// noop of the resource. If absent, the setting of the node applies.
	// +optional
	Noop *bool `json:"noop,omitempty"`
	// provider of the resource. If absent, the default provider of the host applies.
	// +optional
	Provider string `json:"provider,omitempty"`
	// audit lists properties whose external changes are reported; `all` selects every property.
	// +optional
	// +listType=atomic
	Audit []string `json:"audit,omitempty"`
	// schedule of the resource, validated by the schema of its kind. If absent, the resource is
	// checked in every run.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Schedule *Schedule `json:"schedule,omitempty"`
	// logLevel of the resource. Defaults to notice.
	// +optional
	LogLevel LogLevel `json:"logLevel,omitempty"`
	// deletionPolicy of the resource. Defaults to Orphan.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// edges to other resources.
	// +optional
	Edges *Edges `json:"edges,omitempty"`
	// attributes of the kind.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Attributes *runtime.RawExtension `json:"attributes,omitempty"`
	// sealed are attributes whose values only the node can decrypt.
	// +optional
	// +listType=map
	// +listMapKey=attribute
	Sealed []SealedValue `json:"sealed,omitempty"`

	// Unknown is why this version of Fettle does not understand the whole entry, such as `unknown
	// field "limits"`: a newer version wrote it. "" if it does. Entries are not applied in part.
	Unknown string `json:"-"`
}

// UnmarshalJSON implements [json.Unmarshaler]. It sets Unknown.
func (e *CatalogEntry) UnmarshalJSON(raw []byte) error {
	type entry CatalogEntry // without this method
	unknown, err := decodeStrictly(raw, func() any { *e = CatalogEntry{}; return (*entry)(e) })
	e.Unknown = unknown
	return err
}

// decodeStrictly decodes into what a function returns empty. Unknown fields are ignored, and the first of them is
// returned as `unknown field "limits"`.
func decodeStrictly(raw []byte, empty func() any) (unknown string, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(empty()); err != nil {
		return strings.TrimPrefix(err.Error(), "json: "), json.Unmarshal(raw, empty())
	}
	return "", nil
}

// SealedValue is the value of an attribute, encrypted for one node, resource and attribute.
type SealedValue struct {
	// attribute that has the value.
	Attribute string `json:"attribute"`
	// from is the Secret that the value came from.
	From SealedFrom `json:"from"`
	// key is the fingerprint, sha256-..., of the public key that the value is encrypted to. Absent in what a CatalogRevision stores,
	// which has no values.
	// +optional
	Key string `json:"key,omitempty"`
	// value is the ciphertext.
	// +optional
	Value []byte `json:"value,omitempty"`
}

// SealedFrom is a version of a key of a Secret.
type SealedFrom struct {
	KeyRef `json:",inline"`
	// version of the Secret when the value last changed.
	Version string `json:"version"`
}

// Ref returns the reference of the resource, Kind/name.
func (e CatalogEntry) Ref() ResourceRef { return ResourceRef(e.Kind + "/" + e.Name) }

// CatalogList is a list of Catalogs.
//
// +kubebuilder:object:root=true
type CatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Catalog `json:"items"`
}
