package controllers

import "time"

// editsSettle is how long nothing must have been edited before a rollout begins, so that a long kubectl apply is one revision.
const editsSettle = 10 * time.Second

// editsLimit is how long edits wait for that. Something that never rests, such as two tools that fight over a resource, must not keep fixes
// and reverts from nodes.
const editsLimit = 2 * time.Minute

// A rolloutDelay tells when rollouts may begin, given the edits that were compiled.
type rolloutDelay struct {
	newest string
	since  time.Time // newest is the newest revision
	began  time.Time // the edits that wait
	ends   time.Time // later edits wait anew; zero while edits wait
}

// observe takes note of the newest revision. An edit begins to wait once those before it were let through.
func (d *rolloutDelay) observe(newest string, now time.Time) {
	if newest != d.newest {
		if d.newest == "" || !d.ends.IsZero() && !now.Before(d.ends) {
			d.began, d.ends = now, time.Time{}
		}
		d.newest, d.since = newest, now
	}
	switch {
	case !now.Before(d.since.Add(editsSettle)):
		d.ends = now
	case d.ends.IsZero() && d.left(now) <= 0:
		d.ends = now.Add(editsSettle) // time to write the statuses of all policies
	}
}

// left returns how long rollouts still have to wait, 0 or less if they may begin.
func (d *rolloutDelay) left(now time.Time) time.Duration {
	return min(d.since.Add(editsSettle).Sub(now), d.began.Add(editsLimit).Sub(now))
}
