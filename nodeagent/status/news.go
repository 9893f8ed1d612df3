package status

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine"
)

// NewsSince returns a function that reports whether the result of a resource differs from its entry in
// the previous status. A failure that repeats is not news.
func NewsSince(prev []v1alpha1.ResourceReport) func(engine.ResourceReport) bool {
	before := byRef(prev)
	return func(r engine.ResourceReport) bool {
		if r.State == engine.Changed || r.State == engine.Refreshed || r.Audited() {
			return true
		}
		if r.Left {
			return false
		}
		is := report(r)
		was, ok := before[is.Ref]
		return !ok || was.State != is.State || was.Message != is.Message
	}
}
