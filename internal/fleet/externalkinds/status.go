package externalkinds

import (
	"cmp"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/text"
)

// A Type is an ExternalType and the status that it should have.
type Type struct {
	*v1alpha1.ExternalType
	status v1alpha1.ExternalTypeStatus
}

// Outdated returns the status to write, if the type has another one.
func (t Type) Outdated() (status v1alpha1.ExternalTypeStatus, outdated bool) {
	return t.status, !apiequality.Semantic.DeepEqual(t.Status, t.status)
}

// maxMessage limits a message of a condition, in bytes.
const maxMessage = 1024

// status returns the status of a type. Conditions that stay as they were keep their LastTransitionTime.
func (k *Kinds) status(t *v1alpha1.ExternalType, now metav1.Time) v1alpha1.ExternalTypeStatus {
	d := k.definitions[t.Name]
	reason, message := k.obstacle(t, d)
	s := v1alpha1.ExternalTypeStatus{ObservedGeneration: t.Generation, Conditions: append([]metav1.Condition(nil), t.Status.Conditions...)}
	if d != nil {
		s.Resources = int32(len(d.living))
	}
	set := func(kind string, status bool, reason, message string) {
		c := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, ObservedGeneration: t.Generation, LastTransitionTime: now,
			Reason: reason, Message: text.Clip(text.Line(message), maxMessage),
		}
		if status {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&s.Conditions, c)
	}
	if reason == "" {
		set(v1alpha1.ConditionReady, true, v1alpha1.ReasonServed, fmt.Sprintf("resources of kind %s can be managed", t.Spec.Kind))
		set(v1alpha1.ConditionStalled, false, v1alpha1.ReasonSettled, "")
		return s
	}
	set(v1alpha1.ConditionReady, false, reason, message)
	set(v1alpha1.ConditionStalled, true, reason, message)
	return s
}

// obstacle returns why the resources of a type cannot be managed; "" if they can be.
func (k *Kinds) obstacle(t *v1alpha1.ExternalType, d *definition) (reason, message string) {
	name := "CustomResourceDefinition " + t.Name + "." + group
	u := k.types[t.Name]
	switch {
	case u.fault != "":
		return v1alpha1.ReasonInvalidType, u.fault
	case d == nil:
		return v1alpha1.ReasonMissingDefinition, name + " does not exist: apply the one that fettle type build writes"
	case d.leaving:
		return v1alpha1.ReasonMissingDefinition, name + " is being deleted: apply it again when it is gone, or delete the ExternalType, too"
	case d.kind == "":
		return v1alpha1.ReasonMissingDefinition, name + " " + cmp.Or(d.problem, "is not served") + ": apply the one that fettle type build writes"
	}
	if f := u.faultOf(d); f != nil {
		return f.Reason, f.Message
	}
	if d.unlisted != "" {
		return v1alpha1.ReasonNotListed, d.unlisted
	}
	return "", ""
}
