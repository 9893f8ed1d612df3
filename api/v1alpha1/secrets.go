package v1alpha1

// LabelExposeToNodes is the label that a Secret must have, with the value "true", before
// anything of it is read.
const LabelExposeToNodes = "fettle.dev/expose-to-nodes"

// SecretBearer is a Resource of which values may come from Secrets.
//
// +kubebuilder:object:generate=false
type SecretBearer interface {
	Resource
	// GetSecrets are the attributes that come from Secrets; none as a rule.
	GetSecrets() []SecretAttribute
}

// SecretAttribute is an attribute whose value is a key of a Secret.
//
// +kubebuilder:object:generate=false
type SecretAttribute struct {
	Attribute string // as in content
	Field     string // of the spec, that says so: contentFrom
	Ref       KeyRef
}

// GetSecrets are the attributes that come from Secrets.
func (r *File) GetSecrets() []SecretAttribute {
	var all []SecretAttribute
	if r.Spec.ContentFrom != nil && r.Spec.ContentFrom.SecretKeyRef != nil {
		all = append(all, SecretAttribute{"content", "contentFrom", *r.Spec.ContentFrom.SecretKeyRef})
	}
	for _, h := range r.Spec.HeadersFrom {
		all = append(all, SecretAttribute{"headers." + h.Name, "headersFrom", h.SecretKeyRef})
	}
	if r.Spec.CAFrom != nil {
		all = append(all, SecretAttribute{"ca", "caFrom", r.Spec.CAFrom.SecretKeyRef})
	}
	return all
}

// GetSecrets are the attributes that come from Secrets.
func (r *Exec) GetSecrets() []SecretAttribute {
	var all []SecretAttribute
	for _, e := range r.Spec.EnvironmentFrom {
		all = append(all, SecretAttribute{"environment." + e.Name, "environmentFrom", e.SecretKeyRef})
	}
	return all
}

// GetSecrets are the attributes that come from Secrets.
func (r *User) GetSecrets() []SecretAttribute {
	if r.Spec.PasswordFrom == nil {
		return nil
	}
	return []SecretAttribute{{"password", "passwordFrom", r.Spec.PasswordFrom.SecretKeyRef}}
}
