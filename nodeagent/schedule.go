package nodeagent

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"
)

// A schedule is when to do what next. Its methods are pure but for its own fields.
type schedule struct {
	interval time.Duration
	random   func() float64 // [0, 1)

	run      time.Time // of the next run at the interval
	change   time.Time // of what is new; zero: nothing is
	retry    time.Time // zero: nothing is to be tried again
	failures int       // in a row
}

// Bounds of the time until something is tried again; it doubles in between.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// jitter is how much of a duration varies, to either side.
const jitter = 0.1

// first puts the first run off by up to splay, so that agents that start together do
// not run together.
func (s *schedule) first(now time.Time, splay time.Duration) {
	s.run = now.Add(time.Duration(s.random() * float64(splay)))
}

// ran plans the next run.
func (s *schedule) ran(now time.Time) { s.run = now.Add(s.vary(s.interval)) }

// changed plans to begin a change after a while. One that is planned already, of which this
// is more, stays where it is.
func (s *schedule) changed(now time.Time, after time.Duration) {
	if s.change.IsZero() {
		s.change = now.Add(after)
	}
}

// begun plans no change any more.
func (s *schedule) begun() { s.change = time.Time{} }

func (s *schedule) changeDue(now time.Time) bool { return !s.change.IsZero() && !now.Before(s.change) }

// placeOf is a node's own place in a window, which is the same each time.
func placeOf(node string, window time.Duration) time.Duration {
	hash := sha256.Sum256([]byte(node))
	return time.Duration(float64(binary.BigEndian.Uint32(hash[:])) / (math.MaxUint32 + 1) * float64(window))
}

// failed plans to try again, later the more often it failed.
func (s *schedule) failed(now time.Time) {
	wait := min(firstRetry<<min(s.failures, 10), lastRetry)
	s.failures++
	s.retry = now.Add(s.vary(wait))
}

// tried plans nothing more to try, until that fails once more.
func (s *schedule) tried() { s.retry = time.Time{} }

// succeeded plans nothing more to try.
func (s *schedule) succeeded() { s.retry, s.failures = time.Time{}, 0 }

// wait is how long to wait for what is due first, a time from elsewhere included; the
// zero time is none.
func (s *schedule) wait(now, other time.Time) time.Duration {
	next := s.run
	for _, t := range []time.Time{s.change, s.retry, other} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return max(next.Sub(now), 0)
}

func (s *schedule) runDue(now time.Time) bool { return !now.Before(s.run) }

func (s *schedule) retryDue(now time.Time) bool { return !s.retry.IsZero() && !now.Before(s.retry) }

func (s *schedule) vary(d time.Duration) time.Duration {
	return d + time.Duration((2*s.random()-1)*jitter*float64(d))
}
