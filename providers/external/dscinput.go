package external

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/dsc"
	"github.com/fettle-dev/fettle/internal/resource"
)

// purge is the name of the attribute that is the property _purge.
const purge = "purge"

// desired returns a desired state as DSC writes it.
func (t typed) desired(want Attributes) dsc.State {
	return t.properties(want, func(at *v1alpha1.ExternalAttribute) bool { return at.Behaviour != v1alpha1.BehaviourReadOnly })
}

// keys returns what identifies an instance, and the parameters of the commands. If nothing identifies it, that is the whole
// desired state.
func (t typed) keys(want Attributes) dsc.State {
	if t.DSC.Named {
		s := t.desired(want)
		delete(s, t.DSC.Existence)
		return s
	}
	s := t.properties(want, func(at *v1alpha1.ExternalAttribute) bool {
		return at.Behaviour == v1alpha1.BehaviourNamevar || at.Behaviour == v1alpha1.BehaviourParameter
	})
	delete(s, t.DSC.Existence)
	return s
}

func (t typed) properties(want Attributes, of func(*v1alpha1.ExternalAttribute) bool) dsc.State {
	s := dsc.State{}
	for i := range t.Spec.Attributes {
		at := &t.Spec.Attributes[i]
		value, ok := want.values[at.Name]
		if ok && !t.DSC.Own(at) && of(at) {
			s[t.propertyOf(at.Name)] = value
		}
	}
	if e := want.ensure(); e != "" && t.DSC.Existence != "" {
		s[t.DSC.Existence] = t.existence(e)
	}
	return s
}

// existence returns the property that says whether an instance exists, from the value of ensure.
func (t typed) existence(ensure string) any {
	if t.DSC.Existence == dsc.Exist {
		return ensure != resource.Absent
	}
	return t.DSC.ExistenceValues[ensure]
}

// propertyOf returns the property of DSC that is an attribute or ensure.
func (t typed) propertyOf(attribute string) string {
	switch {
	case attribute == resource.Ensure:
		return t.DSC.Existence
	case attribute == purge && t.DSC.Purge:
		return dsc.Purge
	}
	return attribute
}

// conforms checks a desired state by the JSON schema of the resource, as far as the schemas of its attributes cannot. The
// schema may concern values that are still to come from Secrets, so it waits for them.
func (t typed) conforms(a Attributes) error {
	for _, name := range a.pending {
		if _, ok := a.values[name]; !ok {
			return nil
		}
	}
	if t.DSC == nil || t.DSC.Schema == nil || a.ensure() == resource.Absent {
		return nil
	}
	return t.DSC.Schema.Check(map[string]any(t.desired(a)))
}
