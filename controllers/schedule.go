package controllers

import (
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/internal/fleet/limits"
)

// A schedule says when the fleet is compiled: after something has changed, and at a time. Watches record changes at any time; only
// reconciliations use the rest.
type schedule struct {
	changed atomic.Bool
	edits   limits.BatchWindow
	at      time.Time // though nothing changes; zero for never
}

func (s *schedule) invalidate() { s.changed.Store(true) }

// recordEdit records a change by people, which may be one of several.
func (s *schedule) recordEdit(now time.Time) {
	s.edits.Extend(now)
	s.invalidate()
}

func (s *schedule) untilBatchCloses(now time.Time) time.Duration { return s.edits.Left(now) }

// begin reports whether a reconciliation that begins now must compile. The next one handles changes from now on.
func (s *schedule) begin(now time.Time) (due bool) {
	changed := s.changed.Swap(false)
	return changed || !s.at.IsZero() && !now.Before(s.at)
}

// compileAfter has the fleet compiled after some time though nothing changes; 0 is never.
func (s *schedule) compileAfter(wait time.Duration, now time.Time) {
	s.at = time.Time{}
	if wait > 0 {
		s.at = now.Add(wait)
	}
}
