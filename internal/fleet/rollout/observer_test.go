package rollout_test

import (
	"time"

	"github.com/fettle-dev/fettle/internal/fleet/rollout"
)

// A verdict is what a checker knows of a node at the goal.
type verdict int

const (
	open verdict = iota
	good
	broken
	mute // neither good nor broken: it tries nothing, or what is wrong with it is not the goal's fault
)

// An observer has what the checker knows of what one manager has seen since it started.
type observer struct{ nodes map[string]*record }

// A record has times by the clock of the manager since when a node is well or not, without interruption.
type record struct {
	version, facts                int
	good, fails, unready, waiting time.Time
	undecided                     time.Time
	mute, ready, sound            bool
}

// observe takes in what a manager sees when it decides.
func (o *observer) observe(m *manager, s rollout.State) {
	if o.nodes == nil {
		o.nodes = map[string]*record{}
	}
	goal := m.revisions[number(s.Goal())]
	exists := map[string]*record{}
	for _, n := range m.view.nodes {
		version := -1
		if n.revision >= 0 {
			version = m.revisions[n.revision][n.group]
		}
		r := o.nodes[n.name]
		switch {
		case r == nil:
			r = &record{version: version, facts: n.facts}
		case r.version != version || r.facts != n.facts:
			r = &record{version: version, facts: n.facts, mute: r.mute, undecided: r.undecided}
		}
		r.observe(n, version == goal[n.group], m.now())
		if exists[n.name] = r; r.isGood(m.limits, m.now()) || n.noop && !r.good.IsZero() {
			r.undecided = time.Time{}
		}
	}
	o.nodes = exists
}

func (r *record) observe(n machine, atGoal bool, now time.Time) {
	r.mute = n.silent && (r.mute || !atGoal)
	r.ready = r.ready || atGoal && n.notReady.IsZero()
	heard := !n.silent && !n.disabled
	r.sound = r.sound || atGoal && n.applied && n.failing.IsZero()
	fails := !n.failing.IsZero() && (newly(n) || r.sound)
	before := !n.recorded.IsZero() && n.notReady.Add(time.Minute).Before(n.recorded)
	unready := !n.notReady.IsZero() && (r.ready || !before)
	measure(&r.undecided, heard && atGoal, now)
	measure(&r.waiting, heard && !n.applied, now)
	measure(&r.fails, heard && fails, now)
	measure(&r.unready, heard && unready, now)
	measure(&r.good, heard && n.applied && atGoal && !fails && !unready, now)
}

// newly reports whether a node began to fail after it had been moved, or what it was moved to makes it fail.
func newly(n machine) bool { return n.symptomOf || !n.failing.Before(n.recorded) }

func measure(t *time.Time, on bool, now time.Time) {
	if !on {
		*t = time.Time{}
	} else if t.IsZero() || now.Before(*t) {
		*t = now
	}
}

func over(since time.Time, limit time.Duration, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) >= limit
}

func (r *record) isGood(p rollout.Policy, now time.Time) bool { return over(r.good, p.Soak, now) }

// verdict returns what was seen of a node at the goal.
func (o *observer) verdict(n machine, p rollout.Policy, now time.Time) verdict {
	r := o.nodes[n.name]
	if r == nil {
		return open
	}
	fails := n.silent || over(r.fails, time.Minute, now) || over(r.unready, time.Minute, now) || over(r.waiting, p.Timeout, now)
	switch {
	case n.disabled || n.silent && r.mute:
		return mute
	case !fails && n.noop && !r.good.IsZero():
		return mute
	case !fails && r.isGood(p, now):
		return good
	case !fails && !over(r.undecided, p.Timeout+2*p.Soak, now):
		return open
	case n.leaving:
		return mute
	}
	return broken
}
