package catalog

import (
	"encoding/json"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/expression"
)

type configMapFunc = func(v1alpha1.KeyRef) (string, bool)

// A configMapValue is one key of a ConfigMap as it was read.
type configMapValue struct {
	ref   v1alpha1.KeyRef
	text  string
	found bool
}

func read(ref v1alpha1.KeyRef, configMap configMapFunc) configMapValue {
	v := configMapValue{ref: ref}
	if configMap != nil {
		v.text, v.found = configMap(ref)
	}
	return v
}

// sameValues reports whether reading again gives the same.
func sameValues(before []configMapValue, configMap configMapFunc) bool {
	return configMap == nil || !slices.ContainsFunc(before, func(v configMapValue) bool { return read(v.ref, configMap) != v })
}

// resolve returns the resource with the values of ConfigMaps among its attributes, in a copy if there
// are any, and the template of its content, nil for none.
func (by drafting) resolve(d *draft, r v1alpha1.Resource) (v1alpha1.Resource, *expression.Template, *fault) {
	if f := checkReferences(r); f != nil {
		return r, nil, f
	}
	if c, ok := r.(v1alpha1.ContentSource); ok && c.GetContentFrom().ContentTemplate != nil {
		return parseContent(c)
	}
	if !slices.ContainsFunc(v1alpha1.ValueReferencesOf(r), ofConfigMap) {
		return r, nil, nil
	}
	r = r.DeepCopyObject().(v1alpha1.Resource)
	return r, nil, by.setValues(d, v1alpha1.ValueReferencesOf(r))
}

func ofConfigMap(v v1alpha1.ValueReference) bool { return v.From.ConfigMapKeyRef != nil }

// checkReferences is what is wrong with where attributes of a resource come from. The schema
// rejects the same, but may be newer than the resource.
func checkReferences(r v1alpha1.Resource) *fault {
	refs := v1alpha1.ValueReferencesOf(r)
	for _, v := range refs {
		if ofConfigMap(v) == (v.From.SecretKeyRef != nil) {
			return faultf(v1alpha1.ReasonInvalidSpec, "%s needs one of configMapKeyRef and secretKeyRef: {namespace, name, key}", v.Field)
		}
	}
	if c, ok := r.(v1alpha1.ContentSource); ok && contents(c) > 1 {
		return faultf(v1alpha1.ReasonInvalidSpec, "content, contentTemplate and contentFrom exclude each other: keep one")
	}
	for _, v := range refs {
		if isSet(r, v.Attribute) {
			return faultf(v1alpha1.ReasonInvalidSpec, "%s and %s exclude each other: keep one", v.Attribute, v.Field)
		}
	}
	return nil
}

// contents counts what gives a resource content. It looks for plain content only beside another.
func contents(c v1alpha1.ContentSource) int {
	n, origin := 0, c.GetContentFrom()
	if origin.ContentTemplate != nil {
		n++
	}
	if origin.ContentFrom != nil {
		n++
	}
	if n > 0 && isSet(c, "content") {
		n++
	}
	return n
}

// isSet reports whether a resource gives the value of an attribute itself.
func isSet(r v1alpha1.Resource, attribute string) bool {
	raw, err := json.Marshal(r.GetAttributes())
	var all map[string]json.RawMessage
	return err == nil && json.Unmarshal(raw, &all) == nil && all[attribute] != nil
}

func parseContent(c v1alpha1.ContentSource) (v1alpha1.Resource, *expression.Template, *fault) {
	t, err := expression.ParseTemplate(*c.GetContentFrom().ContentTemplate)
	if err != nil {
		return c, nil, faultf(v1alpha1.ReasonInvalidTemplate, "cannot parse contentTemplate: %v", err)
	}
	r := c.DeepCopyObject().(v1alpha1.Resource)
	setContent(r, "")
	return r, t, nil
}

func setContent(r v1alpha1.Resource, text string) {
	if s, ok := r.(v1alpha1.ContentSource); ok {
		s.SetContent(text)
	}
}

// setValues sets the attributes that come from ConfigMaps. The draft remembers what was read.
func (by drafting) setValues(d *draft, refs []v1alpha1.ValueReference) (f *fault) {
	for _, v := range refs {
		if !ofConfigMap(v) {
			continue
		}
		key := *v.From.ConfigMapKeyRef
		value := read(key, by.configMap)
		d.read = append(d.read, value)
		switch {
		case value.found:
			v.Set(value.text)
		case f == nil:
			f = faultf(v1alpha1.ReasonMissingSource, "%s names key %q of ConfigMap %s/%s, which does not exist: create it, or correct %s",
				v.Field, key.Key, key.Namespace, key.Name, v.Field)
		}
	}
	return f
}
