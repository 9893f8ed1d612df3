package bound

import (
	"encoding/json"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
)

// maxSent is the maximum size in bytes of a value in JSON that other resources see.
const maxSent = 4 << 10

func (b *bound[A]) Desired() resource.Related {
	r := resource.Related{Kind: b.ref.Kind, Name: b.Namevar(), Should: map[string]json.RawMessage{}}
	values := encoded(b.want)
	add := func(name string, private bool) {
		switch value := values[name]; {
		case value == nil:
		case private || len(value) > maxSent:
			r.Omitted = append(r.Omitted, name)
		default:
			r.Should[name] = value
		}
	}
	for _, p := range b.t.Properties {
		if p.Managed(b.want) {
			add(p.Name, b.isPrivate(p))
		}
	}
	for _, p := range b.t.Parameters {
		if p.Public {
			add(p.Name, slices.Contains(b.secrets, p.Name))
		}
	}
	slices.Sort(r.Omitted)
	return r
}

// isPrivate reports whether other resources must not see the desired value of a property.
func (b *bound[A]) isPrivate(p resource.Property[A]) bool {
	return slices.Contains(b.secrets, p.Name) || isSensitive(p, b.want) || p.Private != nil && p.Private(b.want)
}

func (b *bound[A]) Receive(related []resource.Related) {
	if b.t.Receive != nil {
		b.t.Receive(&b.want, related)
	}
}
