package cli

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/fettle-dev/fettle/internal/resource"
)

// inHand is what a run deals with at the moment. It is safe for concurrent use.
type inHand struct{ words atomic.Pointer[string] }

// begin notes resources that are dealt with together.
func (h *inHand) begin(refs []resource.Ref) {
	words := refs[0].String()
	if more := len(refs) - 1; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	h.words.Store(&words)
}

// end notes that nothing is in hand.
func (h *inHand) end() { h.words.Store(nil) }

// announceStop says what is still finished, when ctx ends before the returned function is
// called.
func (a *app) announceStop(ctx context.Context, h *inHand) (done func() bool) {
	return context.AfterFunc(ctx, func() {
		if words := h.words.Load(); words != nil {
			a.complain("finishing %s; press again to abort", *words)
		}
	})
}
