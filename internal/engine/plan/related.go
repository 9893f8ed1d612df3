package plan

import (
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/internal/resource"
)

// maxRelated is the maximum size in bytes of all values that others send to one resource.
const maxRelated = 64 << 10

// relatedOf returns the nodes whose desired states a node is to know. The removal of a resource also knows what it
// relied on and what is removed as well.
func relatedOf(items []resource.Item, relations []relation) map[int][]int {
	related := map[int][]int{}
	removed := sync.OnceValue(func() index { return newIndex(items, byKey(items, true)) })
	for _, rel := range relations {
		if !rel.declared.SendDesired {
			continue
		}
		related[rel.of] = append(related[rel.of], rel.found...)
		if items[rel.of].Deletes != nil {
			related[rel.of] = append(related[rel.of], removed().others(rel.of, rel.declared)...)
		}
	}
	return related
}

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
