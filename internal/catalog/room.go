package catalog

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// MaxSpec bounds the spec of a NodeCatalog, in bytes of JSON. etcd stores 1.5 MiB for each
// object, and the node's agent writes the rest: config/policy lets it write 72 KiB of
// characters, each of which takes up to six bytes.
const MaxSpec = 1 << 20

// A room is what is left of a catalog's size for what is one node's own.
type room struct {
	node    string
	left    int
	largest v1alpha1.ResourceRef
	size    int // of the largest
}

func newRoom(node string) *room { return &room{node: node, left: maxCatalog} }

// take makes room for a resource, and returns why there is none.
func (r *room) take(ref v1alpha1.ResourceRef, size int) *fault {
	if size > r.left {
		return faultf(v1alpha1.ReasonTooLarge,
			"it takes %d KiB, and of %d KiB for what is node %s's own %d are left; %s takes most of it, %d KiB: render less, or let nodes share it",
			size>>10, maxCatalog>>10, r.node, r.left>>10, r.largest, r.size>>10)
	}
	if r.left -= size; size > r.size {
		r.largest, r.size = ref, size
	}
	return nil
}

// fitMessages leaves out messages of what is withheld, from the end, until a spec is small
// enough. Each is in the status of its resource, too.
func fitMessages(s *v1alpha1.NodeCatalogSpec) {
	size := sizeOf(s.Catalogs) + sizeOf(s.Entries) + sizeOf(s.Withheld)
	for i := len(s.Withheld) - 1; i >= 0 && size > MaxSpec; i-- {
		w := &s.Withheld[i]
		size -= sizeOf(w.Message)
		w.Message = ""
	}
}

func sizeOf(v any) int {
	text, err := json.Marshal(v)
	if err != nil { // it came from JSON
		return 0
	}
	return len(text)
}
