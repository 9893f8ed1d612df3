package compiler

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/draft"
	"github.com/fettle-dev/fettle/internal/compiler/fault"
)

// A sizeBudget is the remaining part of draft.MaxCatalog for the entries of one node.
type sizeBudget struct {
	node    string
	left    int
	largest v1alpha1.ResourceRef
	size    int // of the largest
}

// take uses a part of the budget, or returns a fault if too little remains.
func (b *sizeBudget) take(ref v1alpha1.ResourceRef, size int) *fault.Fault {
	if size > b.left {
		return fault.New(v1alpha1.ReasonTooLarge,
			"its %d KiB exceed the remaining %d of %d KiB for the own entries of node %s; %s takes the most, %d KiB: render less, or let nodes share it",
			size>>10, b.left>>10, draft.MaxCatalog>>10, b.node, b.largest, b.size>>10)
	}
	if b.left -= size; size > b.size {
		b.largest, b.size = ref, size
	}
	return nil
}
