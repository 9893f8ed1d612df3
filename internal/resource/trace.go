package resource

import "slices"

// PropertyState is one managed property of a resource, for people who debug. "" is absent. A
// value that must not be shown is [Redacted].
type PropertyState struct {
	Property   string
	Current    string // as the provider read it
	Normalized string // Current in the form that is compared
	Target     string // in the same form
}

func (b *bound[A]) PropertyStates() []PropertyState {
	read := b.is
	if b.read != nil {
		read = *b.read
	}
	var all []PropertyState
	for _, p := range b.t.Properties {
		if !p.Managed(b.want) {
			continue
		}
		s := b.propertyState(p, read)
		if b.hides(p, read) || b.hides(p, b.is) {
			s = PropertyState{p.Name, Redacted, Redacted, Redacted}
		}
		if s != (PropertyState{Property: p.Name}) {
			all = append(all, s)
		}
	}
	return all
}

// propertyState has values that may have to be hidden. While the resource does not exist only its
// ensure is compared: the target of anything else is as far as it is known without a state.
func (b *bound[A]) propertyState(p Property[A], read A) PropertyState {
	if p.Name != Ensure && !b.t.exists(b.is) {
		return PropertyState{Property: p.Name, Target: p.Show(b.want)}
	}
	return PropertyState{p.Name, p.Show(read), p.Show(b.is), p.should(b.is, b.want)}
}

// hides reports whether the values of a property must not be shown: its type says so, or the
// desired one comes from a Secret.
func (b *bound[A]) hides(p Property[A], is A) bool {
	return slices.Contains(b.secrets, p.Name) || p.hidden(is, b.want)
}
