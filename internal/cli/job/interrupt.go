package job

import (
	"context"
	"sync/atomic"

	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// Current is the resources that a run is working on. It is safe for concurrent use.
type Current struct {
	refs atomic.Pointer[[]resource.Ref]
}

// Begin records resources that are applied together. The caller must not change refs any more.
func (c *Current) Begin(refs []resource.Ref) {
	c.refs.Store(&refs)
}

// End records that none is being applied.
func (c *Current) End() { c.refs.Store(nil) }

// AnnounceStop prints which resources are still being finished, if ctx ends before done is called.
func (c *Current) AnnounceStop(ctx context.Context, p *output.Printer) (done func() bool) {
	return context.AfterFunc(ctx, func() {
		if refs := c.refs.Load(); refs != nil {
			p.Warn("finishing %s; press again to abort", text.ListOf(len(*refs), (*refs)[:1]))
		}
	})
}
