package nodeagent

import "time"

// A schedule is when to do what next. Its methods are pure but for its own fields.
type schedule struct {
	interval time.Duration
	random   func() float64 // [0, 1)

	run      time.Time // of the next run at the interval
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

// failed plans to try again, later the more often it failed.
func (s *schedule) failed(now time.Time) {
	wait := min(firstRetry<<min(s.failures, 10), lastRetry)
	s.failures++
	s.retry = now.Add(s.vary(wait))
}

// succeeded plans nothing more to try.
func (s *schedule) succeeded() { s.retry, s.failures = time.Time{}, 0 }

// wait is how long to wait for what is due first, a time from elsewhere included; the
// zero time is none.
func (s *schedule) wait(now, other time.Time) time.Duration {
	next := s.run
	for _, t := range []time.Time{s.retry, other} {
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
