// Package schedule computes the times of an agent's runs, changes and retries.
package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"
)

// A Schedule holds the times of the next run, change and retry. It is not safe for concurrent use.
type Schedule struct {
	interval time.Duration
	random   func() float64 // [0, 1)

	run      time.Time // the next run at the interval
	change   time.Time // when to apply a change; zero if there is none
	retry    time.Time // zero if there is nothing to retry
	failures int       // in a row
}

// New returns a schedule with runs at an interval, varied by Jitter. The first run comes after up to splay.
func New(interval, splay time.Duration, now time.Time, random func() float64) *Schedule {
	return &Schedule{interval: interval, random: random, run: now.Add(time.Duration(random() * float64(splay)))}
}

// Backoff of retries: it doubles from the first to the last.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// Jitter is the relative variation of durations, in both directions.
const Jitter = 0.1

// Ran schedules the next run.
func (s *Schedule) Ran(now time.Time) { s.run = now.Add(s.vary(s.interval)) }

// Change schedules a change, unless one is scheduled already.
func (s *Schedule) Change(now time.Time, after time.Duration) {
	if s.change.IsZero() {
		s.change = now.Add(after)
	}
}

// ChangeScheduled reports whether a change is scheduled, due or not.
func (s *Schedule) ChangeScheduled() bool { return !s.change.IsZero() }

// ChangeStarted removes the change.
func (s *Schedule) ChangeStarted() { s.change = time.Time{} }

// Failed schedules a retry, with backoff.
func (s *Schedule) Failed(now time.Time) {
	wait := min(firstRetry<<min(s.failures, 10), lastRetry)
	s.failures++
	s.retry = now.Add(s.vary(wait))
}

// Failing reports whether the last attempt failed.
func (s *Schedule) Failing() bool { return s.failures > 0 }

// RetryStarted removes the retry. The backoff continues if it fails again.
func (s *Schedule) RetryStarted() { s.retry = time.Time{} }

// Succeeded removes the retry and resets the backoff.
func (s *Schedule) Succeeded() { s.retry, s.failures = time.Time{}, 0 }

// Wait returns the time until the next run, change, retry or other. other may be the zero time.
func (s *Schedule) Wait(now, other time.Time) time.Duration {
	next := s.run
	for _, t := range []time.Time{s.change, s.retry, other} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return max(next.Sub(now), 0)
}

// RunDue reports whether it is time for the run at the interval.
func (s *Schedule) RunDue(now time.Time) bool { return !now.Before(s.run) }

// ChangeDue reports whether it is time for the change.
func (s *Schedule) ChangeDue(now time.Time) bool { return due(s.change, now) }

// RetryDue reports whether it is time for the retry.
func (s *Schedule) RetryDue(now time.Time) bool { return due(s.retry, now) }

func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

func (s *Schedule) vary(d time.Duration) time.Duration {
	return d + time.Duration((2*s.random()-1)*Jitter*float64(d))
}

// Offset returns a node's offset in a window, which depends only on the name. The offsets of many nodes spread evenly.
func Offset(node string, window time.Duration) time.Duration {
	hash := sha256.Sum256([]byte(node))
	return time.Duration(float64(binary.BigEndian.Uint32(hash[:])) / (math.MaxUint32 + 1) * float64(window))
}
