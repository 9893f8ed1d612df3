package status

import (
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

// NewsSince returns a function that reports whether the result of a resource differs from its entry in
// the previous status. A failure that repeats is not news.
func NewsSince(prev []v1alpha1.ResourceReport) func(report.ResourceReport) bool {
	before := byRef(prev)
	return func(r report.ResourceReport) bool {
		if r.State == report.Changed || r.State == report.Refreshed || r.Audited() {
			return true
		}
		if r.Left {
			return false
		}
		is := resourceReport(r)
		was, ok := before[is.Ref]
		return !ok || was.State != is.State || was.Message != is.Message
	}
}
