package plan

import (
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
)

// maxRelated is the maximum size in bytes of all values that others send to one resource.
const maxRelated = 64 << 10

// States returns the desired states that each node of Related is to know, in the order of the items.
// It omits resources that are invalid.
func (p *Plan) States(items []resource.Item) map[int][]resource.Related {
	all, of := make(map[int][]resource.Related, len(p.Related)), map[int]resource.Related{}
	for n, others := range p.Related {
		all[n] = nil // also of those that find nothing: they forget what they found in an earlier run
		room := maxRelated
		for _, other := range slices.Compact(slices.Sorted(slices.Values(others))) {
			if items[other].Invalid != nil || p.Dangling[other] != nil {
				continue
			}
			if _, known := of[other]; !known {
				of[other] = items[other].Resource.Desired()
			}
			var state resource.Related
			state, room = of[other].Within(room)
			all[n] = append(all[n], state)
		}
	}
	return all
}
