package v1alpha1

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// External is a resource of an external type: an object of any kind of [ExternalGroupVersion].
type External struct {
	metav1.PartialObjectMetadata `json:",inline"`

	Spec   ExternalSpec   `json:"spec"`
	Status ResourceStatus `json:"status,omitzero"`
}

// ExternalSpec selects nodes and defines the desired state on them.
type ExternalSpec struct {
	Targeting `json:",inline"`

	// Ensure is the desired value of ensure; "" is the default of the type.
	Ensure string `json:"ensure,omitempty"`
	// Properties is a JSON object with the values of attributes.
	Properties *runtime.RawExtension `json:"properties,omitempty"`
	// PropertiesFrom are the attributes whose values come from Secrets.
	PropertiesFrom []PropertyFrom `json:"propertiesFrom,omitempty"`
}

// PropertyFrom is an attribute whose value, a string, comes from a Secret.
type PropertyFrom struct {
	// name of the attribute.
	Name         string `json:"name"`
	SecretSource `json:",inline"`
}

// GroupVersionOf returns the API group and version of a kind of resource: the group of external types unless the kind is built in.
func GroupVersionOf(kind string) schema.GroupVersion {
	if NewResource(kind) == nil {
		return ExternalGroupVersion
	}
	return GroupVersion
}

// NamedResource returns a resource with only a name: an [External] if the kind is not built in.
func NamedResource(kind, name string) Resource {
	r := NewResource(kind)
	if r == nil {
		external := &External{}
		external.APIVersion, external.Kind = ExternalGroupVersion.String(), kind
		r = external
	}
	r.SetName(name)
	return r
}

// IsExternal reports whether an object is a resource of an external type.
func IsExternal(apiVersion string) bool { return apiVersion == ExternalGroupVersion.String() }

// KindName returns the kind.
func (r *External) KindName() string { return r.Kind }

// GetTargeting returns the part of the spec that all kinds share.
func (r *External) GetTargeting() *Targeting { return &r.Spec.Targeting }

// ExternalValues are the attributes of an [External] by name, with ensure. In JSON they are one object.
// +kubebuilder:object:generate=false
type ExternalValues struct {
	Values map[string]any
	// FromSecrets names the attributes whose values come from Secrets. Values lacks them.
	FromSecrets []string
}

// MarshalJSON implements [json.Marshaler].
func (v ExternalValues) MarshalJSON() ([]byte, error) { return json.Marshal(v.Values) }

// GetAttributes returns [ExternalValues]. The value of ensure comes from the spec, whatever the properties have.
func (r *External) GetAttributes() any {
	all := map[string]any{}
	if p := r.Spec.Properties; p != nil && decode(p.Raw, &all) != nil {
		all = map[string]any{"properties": p.Raw} // refused as an unknown attribute
	}
	if all == nil { // the properties are null
		all = map[string]any{}
	}
	delete(all, "ensure")
	if r.Spec.Ensure != "" {
		all["ensure"] = r.Spec.Ensure
	}
	v := ExternalValues{Values: all}
	for _, p := range r.Spec.PropertiesFrom {
		v.FromSecrets = append(v.FromSecrets, p.Name)
	}
	return v
}

// decode decodes JSON whose numbers keep their digits.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// GetStatus returns the status.
func (r *External) GetStatus() *ResourceStatus { return &r.Status }

// GetValueReferences implements [ValueReferrer].
func (r *External) GetValueReferences() []ValueReference {
	var all []ValueReference
	for _, p := range r.Spec.PropertiesFrom {
		all = append(all, fromSecret(p.Name, "propertiesFrom", p.SecretSource))
	}
	return all
}

// DeepCopyObject implements [runtime.Object].
func (r *External) DeepCopyObject() runtime.Object {
	out := &External{PartialObjectMetadata: *r.PartialObjectMetadata.DeepCopy()}
	r.Spec.DeepCopyInto(&out.Spec)
	r.Status.DeepCopyInto(&out.Status)
	return out
}
