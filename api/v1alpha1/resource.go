package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Resource is any kind that describes a thing on a host: File, Package, ... Its
// methods are generated for every type with the marker +fettle:kind.
//
// +kubebuilder:object:generate=false
type Resource interface {
	metav1.Object
	runtime.Object
	// KindName is the kind: "File".
	KindName() string
	// GetTargeting is the part of the spec that every kind has. Never nil.
	GetTargeting() *Targeting
	// GetAttributes points to the kind's attributes, as *FileAttributes. It encodes
	// to the attributes of a catalog entry.
	GetAttributes() any
	// GetStatus is the status that every kind has. Never nil.
	GetStatus() *ResourceStatus
}

// RefOf is Kind/name.
func RefOf(r Resource) ResourceRef { return ResourceRef(r.KindName() + "/" + r.GetName()) }

// A ContentSource is a Resource whose content may come from elsewhere. The compiler
// puts what it comes to into the catalog.
//
// +kubebuilder:object:generate=false
type ContentSource interface {
	Resource
	// GetContentFrom says where the content comes from. Never nil.
	GetContentFrom() *ContentOrigin
	// SetContent replaces the content among the attributes.
	SetContent(string)
}

// ContentOrigin is where content comes from that is not written out. At most one of
// its fields is set.
type ContentOrigin struct {
	// contentTemplate is a Go template over `facts` and `node` (name, labels, annotations),
	// which the manager renders for each node. docs/expressions.md lists its functions and limits.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	ContentTemplate *string `json:"contentTemplate,omitempty"`

	// contentFrom takes the content from another object; a change of that object
	// reaches the nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="contentFrom needs one of configMapKeyRef and secretKeyRef: {namespace, name, key}"
	ContentFrom *ValueSource `json:"contentFrom,omitempty"`
}

// ValueSource names the object that a value comes from: exactly one field is set, as a rule of
// each field of this type requires.
type ValueSource struct {
	// configMapKeyRef is one key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
	// secretKeyRef is one key of a Secret that has the label fettle.dev/expose-to-nodes:
	// "true". It is sealed for each node, and nobody else sees it.
	// +optional
	SecretKeyRef *KeyRef `json:"secretKeyRef,omitempty"`
}

// SecretSource names the Secret that a value comes from.
type SecretSource struct {
	// secretKeyRef is one key of a Secret that has the label fettle.dev/expose-to-nodes:
	// "true". It is sealed for each node, and nobody else sees it.
	// +required
	SecretKeyRef KeyRef `json:"secretKeyRef"`
}

// KeyRef names a key of an object in a namespace.
type KeyRef struct {
	// namespace of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key in the object's data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
