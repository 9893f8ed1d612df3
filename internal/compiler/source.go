package compiler

import (
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/expression"
)

// resolve returns the resource with the values of ConfigMaps among its attributes, as a copy if there are any, and its
// content template, nil for none.
func (by drafter) resolve(r v1alpha1.Resource) (v1alpha1.Resource, *expression.Template, *fault.Fault) {
	if c, ok := r.(v1alpha1.ContentSource); ok && c.GetContentFrom().ContentTemplate != nil {
		t, err := expression.ParseTemplate(*c.GetContentFrom().ContentTemplate)
		if err != nil {
			return r, nil, fault.New(v1alpha1.ReasonInvalidTemplate, "cannot parse contentTemplate: %v", err)
		}
		return withContent(r, ""), t, nil
	}
	if !slices.ContainsFunc(v1alpha1.ValueReferencesOf(r), fromConfigMap) {
		return r, nil, nil
	}
	r = r.DeepCopyObject().(v1alpha1.Resource)
	return r, nil, by.setValues(v1alpha1.ValueReferencesOf(r))
}

func fromConfigMap(v v1alpha1.ValueReference) bool { return v.From.ConfigMapKeyRef != nil }

// withContent returns a copy of a resource with this content.
func withContent(r v1alpha1.Resource, content string) v1alpha1.Resource {
	r = r.DeepCopyObject().(v1alpha1.Resource)
	if s, ok := r.(v1alpha1.ContentSource); ok {
		s.SetContent(content)
	}
	return r
}

// setValues sets the attributes that come from ConfigMaps.
func (by drafter) setValues(refs []v1alpha1.ValueReference) *fault.Fault {
	for _, v := range refs {
		if !fromConfigMap(v) {
			continue
		}
		key := *v.From.ConfigMapKeyRef
		value, found := "", false
		if by.ConfigMap != nil {
			value, found = by.ConfigMap(key)
		}
		if !found {
			return fault.New(v1alpha1.ReasonMissingSource, "%s names key %q of ConfigMap %s/%s, which does not exist: create it, or correct %s",
				v.Field, key.Key, key.Namespace, key.Name, v.Field)
		}
		v.Set(value)
	}
	return nil
}
