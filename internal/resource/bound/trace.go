package bound

import (
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

func (b *bound[A]) PropertyStates() []resource.PropertyState {
	read := b.is
	if b.read != nil {
		read = *b.read
	}
	var all []resource.PropertyState
	for _, p := range b.t.Properties {
		if !p.Managed(b.want) {
			continue
		}
		s := b.propertyState(p, read)
		if b.hides(p, read) || b.hides(p, b.is) {
			s = resource.PropertyState{Property: p.Name, Current: redact.Mark, Normalized: redact.Mark, Target: redact.Mark}
		}
		if s != (resource.PropertyState{Property: p.Name}) {
			all = append(all, s)
		}
	}
	return all
}

// propertyState returns values that may have to be hidden. Only ensure is compared while the
// resource does not exist. Targets of other properties are then those known without a state.
func (b *bound[A]) propertyState(p resource.Property[A], read A) resource.PropertyState {
	if p.Name != resource.Ensure && !exists(b.t, b.is) {
		return resource.PropertyState{Property: p.Name, Target: p.Show(b.want)}
	}
	return resource.PropertyState{Property: p.Name, Current: p.Show(read), Normalized: p.Show(b.is), Target: should(p, b.is, b.want)}
}

// hides reports whether the values of a property must not be shown, because its type declares it
// sensitive or the desired value comes from a Secret.
func (b *bound[A]) hides(p resource.Property[A], is A) bool {
	return slices.Contains(b.secrets, p.Name) || isHidden(p, is, b.want)
}
