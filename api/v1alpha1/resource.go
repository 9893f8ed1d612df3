package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Resource is implemented by every kind that manages an object on a host: File, Package and so on.
// Its methods are generated for each type with the marker +fettle:kind.
//
// +kubebuilder:object:generate=false
type Resource interface {
	metav1.Object
	runtime.Object
	// KindName returns the kind, such as "File".
	KindName() string
	// GetTargeting returns the part of the spec that all kinds share. It is never nil.
	GetTargeting() *Targeting
	// GetAttributes returns a pointer to the attributes of the kind, such as *FileAttributes. Their
	// JSON is the attributes of a catalog entry.
	GetAttributes() any
	// GetStatus returns the status. It is never nil.
	GetStatus() *ResourceStatus
}

// RefOf returns the reference of a resource, Kind/name.
func RefOf(r Resource) ResourceRef { return ResourceRef(r.KindName() + "/" + r.GetName()) }

// ContentSource is a Resource whose content can come from a template or another object. The
// compiler writes the resulting content to the catalog.
//
// +kubebuilder:object:generate=false
type ContentSource interface {
	Resource
	// GetContentFrom returns the origin of the content. It is never nil.
	GetContentFrom() *ContentOrigin
	// SetContent sets the content attribute.
	SetContent(string)
}

// ContentOrigin defines where content comes from if it is not inline. At most one field is set.
type ContentOrigin struct {
	// contentTemplate is a Go template over `facts` and `node` (name, labels, annotations). The
	// manager renders it for each node. docs/expressions.md lists its functions and limits.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	ContentTemplate *string `json:"contentTemplate,omitempty"`

	// contentFrom references a ConfigMap or Secret with the content. A change of that object is
	// applied to the nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.configMapKeyRef) != has(self.secretKeyRef)",message="contentFrom requires exactly one of configMapKeyRef and secretKeyRef"
	ContentFrom *ValueSource `json:"contentFrom,omitempty"`
}

// ValueSource references a key of a ConfigMap or Secret. Exactly one field must be set.
type ValueSource struct {
	// configMapKeyRef references a key of a ConfigMap.
	// +optional
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
	// secretKeyRef references a key of a Secret with the label fettle.dev/expose-to-nodes: "true".
	// The value is encrypted for each node; only its agent can decrypt it.
	// +optional
	SecretKeyRef *KeyRef `json:"secretKeyRef,omitempty"`
}

// SecretSource references a key of a Secret.
type SecretSource struct {
	// secretKeyRef references a key of a Secret with the label fettle.dev/expose-to-nodes: "true".
	// The value is encrypted for each node; only its agent can decrypt it.
	// +required
	SecretKeyRef KeyRef `json:"secretKeyRef"`
}

// KeyRef references a key of an object in a namespace.
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
