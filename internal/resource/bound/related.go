package bound

import (
	"encoding/json"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
)

// maxSent is the maximum size in bytes of a value in JSON that other resources see.
const maxSent = 4 << 10

func (d *desired[A]) Relations() []resource.Relation {
	var out []resource.Relation
	for _, a := range d.t.Auto {
		if names := a.Names(d.want); len(names) > 0 {
			if out == nil {
				out = make([]resource.Relation, 0, len(d.t.Auto))
			}
			out = append(out, resource.Relation{Relation: a.Relation, Kind: a.Kind, Names: names, Nearest: a.Nearest, SendDesired: a.SendDesired})
		}
	}
	return out
}

func (d *desired[A]) Desired() resource.Related {
	r := resource.Related{Kind: d.ref.Kind, Name: d.Namevar(), Should: map[string]json.RawMessage{}}
	values := encoded(d.want)
	add := func(name string, private bool) {
		switch value := values[name]; {
		case value == nil:
		case private || len(value) > maxSent:
			r.Omitted = append(r.Omitted, name)
		default:
			r.Should[name] = value
		}
	}
	for _, p := range d.t.Properties {
		if p.Managed(d.want) {
			add(p.Name, d.isPrivate(p))
		}
	}
	for _, p := range d.t.Parameters {
		if p.Public {
			add(p.Name, slices.Contains(d.secrets, p.Name))
		}
	}
	slices.Sort(r.Omitted)
	return r
}

// isPrivate reports whether other resources must not see the desired value of a property.
func (d *desired[A]) isPrivate(p resource.Property[A]) bool {
	return slices.Contains(d.secrets, p.Name) || isSensitive(p, d.want) || p.Private != nil && p.Private(d.want)
}

func (d *desired[A]) Receive(related []resource.Related) {
	if d.t.Receive != nil {
		d.t.Receive(&d.want, related)
	}
}
