package v1alpha1

// LabelExposeToNodes is the label that a Secret must have, with the value "true", before Fettle
// reads its data.
const LabelExposeToNodes = "fettle.dev/expose-to-nodes"

// ValueReferrer is a Resource with attributes, other than the content of a [ContentSource], whose
// values can come from ConfigMaps or Secrets.
//
// +kubebuilder:object:generate=false
type ValueReferrer interface {
	Resource
	// GetValueReferences returns the attributes whose values come from another object.
	GetValueReferences() []ValueReference
}

// ValueReference is an attribute whose value is a key of a ConfigMap or Secret.
//
// +kubebuilder:object:generate=false
type ValueReference struct {
	Attribute string // such as content, or headers.NAME for an entry of a list
	Field     string // the field of the spec with the reference, such as contentFrom
	From      ValueSource
	// Set sets the attribute of the resource that returned the reference. It is nil if the field accepts
	// only Secrets, whose values never become part of a resource.
	Set func(value string)
}

func fromSecret(attribute, field string, s SecretSource) ValueReference {
	return ValueReference{Attribute: attribute, Field: field, From: ValueSource{SecretKeyRef: &s.SecretKeyRef}}
}

// ValueReferencesOf returns the attributes of a resource whose values come from another object.
func ValueReferencesOf(r Resource) []ValueReference {
	var all []ValueReference
	if c, ok := r.(ContentSource); ok && c.GetContentFrom().ContentFrom != nil {
		all = append(all, ValueReference{"content", "contentFrom", *c.GetContentFrom().ContentFrom, c.SetContent})
	}
	if v, ok := r.(ValueReferrer); ok {
		all = append(all, v.GetValueReferences()...)
	}
	return all
}

// GetValueReferences implements [ValueReferrer].
func (r *File) GetValueReferences() []ValueReference {
	var all []ValueReference
	for _, h := range r.Spec.HeadersFrom {
		all = append(all, fromSecret("headers."+h.Name, "headersFrom", h.SecretSource))
	}
	if r.Spec.CAFrom != nil {
		all = append(all, ValueReference{"ca", "caFrom", *r.Spec.CAFrom, func(pem string) { r.Spec.CA = &pem }})
	}
	return all
}

// GetValueReferences implements [ValueReferrer].
func (r *Exec) GetValueReferences() []ValueReference {
	var all []ValueReference
	for _, e := range r.Spec.EnvironmentFrom {
		all = append(all, fromSecret("environment."+e.Name, "environmentFrom", e.SecretSource))
	}
	return all
}

// GetValueReferences implements [ValueReferrer].
func (r *User) GetValueReferences() []ValueReference {
	if r.Spec.PasswordFrom == nil {
		return nil
	}
	return []ValueReference{fromSecret("password", "passwordFrom", *r.Spec.PasswordFrom)}
}
