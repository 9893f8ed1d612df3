package engine

import (
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// maxTraced is the length, in bytes, of the longest value in a trace.
const maxTraced = 200

// trace describes the state of a resource that was just compared.
func (r *run) trace(e *entry) {
	if r.Trace == nil {
		return
	}
	for _, s := range e.Resource.PropertyStates() {
		r.Trace(stateLine(e.Ref, s))
	}
}

// stateLine is a property in one line: its current value, the normalized one where that is
// another, and the target.
func stateLine(ref resource.Ref, s resource.PropertyState) string {
	current := clipped(s.Current)
	if s.Normalized != s.Current {
		current += ", normalized " + clipped(s.Normalized)
	}
	return fmt.Sprintf("%s: %s: current %s, target %s", ref, s.Property, current, clipped(s.Target))
}

func clipped(value string) string { return text.Clip(orAbsent(value), maxTraced) }
