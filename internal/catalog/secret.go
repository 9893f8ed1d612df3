package catalog

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A SecretValue is one key of a Secret. It prints as a mark.
type SecretValue struct {
	Exposed bool // there is such a Secret, and nodes may have it
	Found   bool // and it has the key
	Value   []byte
	Version string // changes when the value does
}

// Format writes a mark in place of the value, whatever the verb.
func (v SecretValue) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(resource.Redacted)) // as all that is formatted
}

type sealFunc = func(*Node, v1alpha1.ResourceRef, string, v1alpha1.SealedFrom) (v1alpha1.SealedValue, error)

// A secretOrigin is where the value of an attribute comes from. The value itself stays
// where it is: nothing that is compiled has it.
type secretOrigin struct {
	attribute string
	from      v1alpha1.SealedFrom
}

func draftingOf(input Input, applied bool) drafting {
	return drafting{known: byName(input.Kinds), configMap: input.ConfigMap, secret: input.Secret, refused: input.Refused, applied: applied}
}

// forgetful is for what is kept: it can't get at a Secret any more.
func (by drafting) forgetful() drafting {
	by.secret = nil
	return by
}

// An askedSecret is what there was to say of a Secret but its value.
type askedSecret struct {
	ref            v1alpha1.KeyRef
	exposed, found bool
	version        string
}

func (by drafting) ask(ref v1alpha1.KeyRef) (SecretValue, askedSecret) {
	var value SecretValue
	if by.secret != nil {
		value = by.secret(ref)
	}
	return value, askedSecret{ref, value.Exposed, value.Found, value.Version}
}

// sameSecrets reports whether Secrets are as they were.
func sameSecrets(asked []askedSecret, secret func(v1alpha1.KeyRef) SecretValue) bool {
	for _, before := range asked {
		if _, now := (drafting{secret: secret}).ask(before.ref); now != before {
			return false
		}
	}
	return true
}

// seclude makes a draft of which values come from Secrets one that is sealed for each
// node. Where it is applied at once, it gets the values.
func (by drafting) seclude(d *draft, r v1alpha1.Resource) {
	if d.fault != nil {
		return
	}
	attributes := slices.DeleteFunc(v1alpha1.ValueReferencesOf(r), ofConfigMap)
	if len(attributes) == 0 {
		return
	}
	if d.fault = unprotected(attributes[0].Field, r.GetTargeting()); d.fault != nil && !by.applied {
		return
	}
	values, f := by.secrets(d, attributes)
	if d.fault = f; f != nil {
		return
	}
	_, bound, f := by.bind(d.entry, r, values...)
	switch {
	case f != nil:
		d.fault = f
	case by.applied:
		d.bound = bound
	default:
		d.own = &own{by: by.forgetful(), secrets: origins(attributes, d.asked), entry: d.entry}
	}
}

func origins(attributes []v1alpha1.ValueReference, asked []askedSecret) []secretOrigin {
	all := make([]secretOrigin, len(attributes))
	for i, a := range attributes {
		all[i] = secretOrigin{a.Attribute, v1alpha1.SealedFrom{KeyRef: *a.From.SecretKeyRef, Version: asked[i].version}}
	}
	return all
}

// secrets are the values, of which the draft remembers that they were asked for.
func (by drafting) secrets(d *draft, attributes []v1alpha1.ValueReference) (values []resource.Secret, f *fault) {
	for _, a := range attributes {
		value, asked := by.ask(*a.From.SecretKeyRef)
		d.asked = append(d.asked, asked)
		values = append(values, resource.Secret{Attribute: a.Attribute, Value: string(value.Value)})
		if f == nil {
			f = wrong(value, a)
		}
	}
	return values, f
}

// wrong is why a value can't be had, nil if it can.
func wrong(value SecretValue, a v1alpha1.ValueReference) *fault {
	ref := a.From.SecretKeyRef
	switch {
	case !value.Exposed:
		return faultf(v1alpha1.ReasonUnexposedSecret, "%s names Secret %s/%s, which is not there or is not labelled %s=true, without which it is not read: create it, or label it",
			a.Field, ref.Namespace, ref.Name, v1alpha1.LabelExposeToNodes)
	case !value.Found:
		return faultf(v1alpha1.ReasonMissingSource, "%s names key %q of Secret %s/%s, which has no such key: add it, or correct %s",
			a.Field, ref.Key, ref.Namespace, ref.Name, a.Field)
	}
	return nil
}

// sealFor is the entry with its values sealed for a node.
func (o *own) sealFor(n *subject) *rendering {
	if n.PublicKey == "" {
		return &rendering{fault: faultf(v1alpha1.ReasonWaitingForKey, "waits for the key of node %s, which its agent has yet to publish", n.Name)}
	}
	e := o.entry
	e.Sealed = make([]v1alpha1.SealedValue, len(o.secrets))
	for i, s := range o.secrets {
		var err error
		if e.Sealed[i], err = n.seal(&n.Node, e.Ref(), s.attribute, s.from); err != nil {
			return &rendering{fault: faultf(v1alpha1.ReasonWaitingForKey, "waits for another key of node %s: %v", n.Name, err)}
		}
	}
	return measured(e, nil)
}
