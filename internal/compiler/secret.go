package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
	"github.com/fettle-dev/fettle/internal/text"
)

// A secretOrigin is where the value of an attribute comes from. No draft holds the value itself.
type secretOrigin struct {
	attribute string
	from      v1alpha1.SealedFrom
}

// bindSecrets checks the values that come from Secrets. They are sealed for each node later, or bound now if the draft
// is applied at once.
func (by drafter) bindSecrets(d *Draft, r v1alpha1.Resource) {
	refs := slices.DeleteFunc(v1alpha1.ValueReferencesOf(r), fromConfigMap)
	if d.Fault != nil || len(refs) == 0 {
		return
	}
	if !by.bindOnly {
		if d.Fault = by.unprotected(refs[0].Field, r.GetTargeting()); d.Fault != nil {
			return
		}
	}
	values, origins, f := by.readSecrets(d.Ref, refs)
	if f != nil {
		d.Fault = f
		return
	}
	if d.Fault = by.bindValues(d, r, values); d.Fault == nil && !by.bindOnly {
		d.PerNode = &perNodeEntry{secrets: origins, entry: d.Entry, written: r}
	}
}

// bindValues checks that the type accepts the values of Secrets, unless it rejects the attributes of a restored resource anyway.
func (by drafter) bindValues(d *Draft, r v1alpha1.Resource, values []resource.Secret) *fault.Fault {
	if d.Bound == nil && by.stored != nil {
		return nil
	}
	bound, err := by.bind(d.Entry, r, values...)
	if err != nil {
		return fault.New(v1alpha1.ReasonInvalidSpec, "%v", err)
	}
	if by.bindOnly {
		d.Bound = bound
	}
	return nil
}

// unprotected returns a fault if nodes can have themselves selected by a targeting: anyone who broke into a node would
// get the Secret.
func (by drafter) unprotected(field string, t *v1alpha1.Targeting) *fault.Fault {
	if t.AcceptSelfLabelledNodes {
		return nil
	}
	controlled := targeting.KubeletControlled(t, by.Env)
	if len(controlled) == 0 {
		return nil
	}
	return fault.New(v1alpha1.ReasonUnprotectedTargeting,
		"%s sends a Secret to nodes that are selected by values a kubelet can set on its own node: %s; select by node.name or by labels below node-restriction.kubernetes.io/, "+
			"which kubelets cannot set, or accept the risk with acceptSelfLabelledNodes: true", field, text.List(controlled))
}

func (by drafter) readSecrets(of v1alpha1.ResourceRef, refs []v1alpha1.ValueReference) (values []resource.Secret, origins []secretOrigin, f *fault.Fault) {
	for _, v := range refs {
		ref := *cmp.Or(v.From.SecretKeyRef, &v1alpha1.KeyRef{}) // the schema requires one
		if by.Unread[of] {
			origins = append(origins, secretOrigin{v.Attribute, v1alpha1.SealedFrom{KeyRef: ref}})
			continue
		}
		var value SecretValue
		if by.Secret != nil {
			value = by.Secret(ref)
		}
		switch {
		case f != nil: // read all the same, so that a change of it is noticed
		case !value.Exposed:
			f = fault.New(v1alpha1.ReasonUnexposedSecret, "%s names Secret %s/%s, which does not exist or is not labelled %s=true: create it, or label it",
				v.Field, ref.Namespace, ref.Name, v1alpha1.LabelExposeToNodes)
		case !value.Found:
			f = fault.New(v1alpha1.ReasonMissingSource, "%s names key %q of Secret %s/%s, which has no such key: add it, or correct %s",
				v.Field, ref.Key, ref.Namespace, ref.Name, v.Field)
		}
		values = append(values, resource.Secret{Attribute: v.Attribute, Value: string(value.Value)})
		origins = append(origins, secretOrigin{v.Attribute, v1alpha1.SealedFrom{KeyRef: ref, Version: value.Version}})
	}
	return values, origins, f
}

// A SecretValue is one key of a Secret. It formats as a redaction mark.
type SecretValue struct {
	Exposed bool // the Secret exists and is exposed to nodes
	Found   bool // and it has the key
	Value   []byte
	Version string // differs when the value differs
}

// Format writes a mark instead of the value, whatever the verb.
func (v SecretValue) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte(redact.Mark)) // like everything that is formatted
}
