package cli

import (
	"context"
	"sync/atomic"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// inHand is what a run deals with at the moment. It is safe for concurrent use.
type inHand struct{ words atomic.Pointer[string] }

// begin notes resources that are dealt with together.
func (h *inHand) begin(refs []resource.Ref) {
	words := text.ListOf(len(refs), refs[:1])
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
