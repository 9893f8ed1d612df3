package bound

import (
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/redact"
)

func (b *bound[A]) PropertyStates() []resource.PropertyState {
	read := b.state.is
	if b.state.read != nil {
		read = *b.state.read
	}
	var all []resource.PropertyState
	for _, p := range b.t.Properties {
		if !p.Managed(b.want) {
			continue
		}
		s := b.propertyState(p, read)
		if b.hides(p, read) || b.hides(p, b.state.is) {
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
	if p.Name != resource.Ensure && !exists(b.t, b.state.is) {
		return resource.PropertyState{Property: p.Name, Target: p.Show(b.want)}
	}
	return resource.PropertyState{Property: p.Name, Current: p.Show(read), Normalized: p.Show(b.state.is), Target: should(p, b.state.is, b.want)}
}
