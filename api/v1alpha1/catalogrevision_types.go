package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CatalogRevision is everything that people wrote at one time, compiled as far as it is the same for all nodes. It is never changed, and named
// after the SHA-256 of its content, so that reverting a change gives the former revision. Its entries are in Catalogs, which stay as long
// as it does.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=crev,categories=fettle
// +kubebuilder:printcolumn:name="Resources",type=integer,JSONPath=`.count`
// +kubebuilder:printcolumn:name="Faults",type=integer,JSONPath=`.faults`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^sha256-[0-9a-f]{64}$')",message="metadata.name must be sha256- followed by the hash of the content"
type CatalogRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// count is the number of resources.
	// +optional
	Count int32 `json:"count,omitempty"`
	// faults is the number of resources that are at fault.
	// +optional
	Faults int32 `json:"faults,omitempty"`
	// targets are the targetings, in the order in which they are compiled.
	// +required
	// +listType=atomic
	Targets []RevisionTarget `json:"targets"`
	// types are the definitions of the external types that the entries have, those of the parts too: the cluster may have others by now.
	// +optional
	// +listType=map
	// +listMapKey=type
	Types []TypeDefinition `json:"types,omitempty"`
	// parts are CatalogRevisions whose targets follow, for a revision that is too large for one object.
	// +optional
	// +listType=atomic
	Parts []CatalogRef `json:"parts,omitempty"`
}

// TypeDefinition says which Catalog has the definition of an external type. Its only entry has the kind ExternalType, the name of the type, and
// the spec as attributes.
type TypeDefinition struct {
	// type is the ExternalType, as its name, @ and its digest.
	// +required
	// +kubebuilder:validation:MaxLength=325
	Type string `json:"type"`
	// catalog is the name of the Catalog.
	// +required
	// +kubebuilder:validation:Pattern=`^sha256-[0-9a-f]{64}$`
	Catalog string `json:"catalog"`
}

// RevisionTarget is a targeting, with the resources that have it.
type RevisionTarget struct {
	// nodeSelector selects nodes by label.
	// +required
	NodeSelector *metav1.LabelSelector `json:"nodeSelector"`
	// when is a CEL expression over facts and node.
	// +optional
	When string `json:"when,omitempty"`
	// acceptSelfLabelledNodes allows Secrets on nodes that are selected by what a node can set itself.
	// +optional
	AcceptSelfLabelledNodes bool `json:"acceptSelfLabelledNodes,omitempty"`
	// remote is set if one of the nodes acts for each resource, because its type is Remote.
	// +optional
	Remote bool `json:"remote,omitempty"`
	// deleting is set if the resources are being deleted. Their entries remove what they describe.
	// +optional
	Deleting bool `json:"deleting,omitempty"`
	// catalogs have the entries that are the same on every node.
	// +optional
	// +listType=atomic
	Catalogs []CatalogRef `json:"catalogs,omitempty"`
	// sources are Catalogs with the entries that are completed for each node: with a contentTemplate, or with references to Secrets.
	// +optional
	// +listType=atomic
	Sources []CatalogRef `json:"sources,omitempty"`
	// faulty are resources that no node gets, with the reason. Catalogs and sources have their entries as far as they are known, because
	// others may conflict with them.
	// +optional
	// +listType=atomic
	Faulty []RevisionFault `json:"faulty,omitempty"`
}

// RevisionFault is a resource that is at fault in a revision.
type RevisionFault struct {
	Withheld `json:",inline"`
	// edges to other resources, if the entry is not known.
	// +optional
	Edges *Edges `json:"edges,omitempty"`
}

// CatalogRevisionList is a list of CatalogRevisions.
//
// +kubebuilder:object:root=true
type CatalogRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CatalogRevision `json:"items"`
}
