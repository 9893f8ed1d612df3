package drift

import (
	"slices"
	"time"
)

// The delays after a change. Changes are debounced, since installing a package changes one thing
// after another, but only up to a maximum.
const (
	Settle     = 250 * time.Millisecond
	SettleMost = 2 * time.Second
	// Again is the delay before a run checks its own changes again, in case someone else changed
	// them meanwhile. It is also the backoff after a first drift, which doubles with each further
	// one.
	Again = time.Second
	// Calm is how long a path must not change for its backoff to be reset.
	Calm = time.Minute
)

// A Pace decides how soon to run after changes. The delay is short at first, and grows for a path
// that changes again and again, as in a conflict with another tool. Each path has its own backoff.
// Its methods only modify its own fields.
type Pace struct {
	Most time.Duration // the longest delay: there is a run at least that often anyway

	pending map[string]*change
	known   map[string]*record
	own     []string // paths that the current run checks again
}

// A change is one that no run has handled yet.
type change struct {
	first, last time.Time
	own         bool // made by a run: to be checked again
	aside       bool // an aside has handled it for some resources; the next run checks it for all
}

// A record is the history of a path that changed before.
type record struct {
	runs int // that it caused
	last time.Time
}

// Saw records that paths changed.
func (p *Pace) Saw(now time.Time, paths ...string) { p.saw(now, paths, false) }

func (p *Pace) saw(now time.Time, paths []string, own bool) {
	if p.pending == nil {
		p.pending, p.known = map[string]*change{}, map[string]*record{}
	}
	for _, path := range paths {
		c := p.pending[path]
		if c == nil {
			c = &change{first: now, own: own}
			p.pending[path] = c
		}
		c.last = now
		c.own = c.own && own
		c.aside = false
		if r := p.known[path]; r != nil && now.Sub(r.last) > p.wait(r)+Calm {
			delete(p.known, path)
		}
	}
}

// Due returns when to run; the zero time if nothing changed.
func (p *Pace) Due() time.Time {
	return p.dueOf(func(string, *change) bool { return true })
}

// DueAside returns when to handle changes of some paths during a run; the zero time if there are none.
func (p *Pace) DueAside(include func(path string) bool) time.Time {
	return p.dueOf(func(path string, c *change) bool { return !c.aside && include(path) })
}

func (p *Pace) dueOf(include func(string, *change) bool) time.Time {
	var due time.Time
	for path, c := range p.pending {
		if !include(path, c) {
			continue
		}
		if at := p.due(path, c); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
}

// BeginAside records that the changes of some paths are handled during a run, and returns the paths.
// They stay pending, since other resources may depend on them, and since what they notify may have had its turn.
func (p *Pace) BeginAside(now time.Time, include func(path string) bool) (handled []string) {
	for path, c := range p.pending {
		if c.aside || !include(path) {
			continue
		}
		if !c.own && !now.Before(p.due(path, c)) {
			p.blame(now, path)
		}
		c.aside = true
		handled = append(handled, path)
	}
	return handled
}

// EndAside records the paths that changed during an aside, and those among them of resources that it changed.
func (p *Pace) EndAside(now time.Time, changed, byAside []string) {
	for _, path := range changed {
		own := slices.Contains(byAside, path)
		if own {
			delete(p.pending, path) // what it was before is handled
		}
		p.saw(now, []string{path}, own)
	}
}

func (p *Pace) due(path string, c *change) time.Time {
	at := earliest(c.last.Add(Settle), c.first.Add(SettleMost))
	if c.own {
		at = c.first.Add(Again)
	}
	if r := p.known[path]; r != nil {
		at = latest(at, r.last.Add(p.wait(r)))
	}
	return at
}

// wait returns the minimum time between the last run for a path and the next one.
func (p *Pace) wait(r *record) time.Duration {
	wait := Again
	for range r.runs - 1 {
		if wait >= p.Most {
			break
		}
		wait *= 2
	}
	return min(wait, p.Most)
}

// Begin records that a run begins, for whatever reason. It handles all changes so far, and returns their paths.
func (p *Pace) Begin(now time.Time) (handled []string) {
	p.own = nil
	for path, c := range p.pending {
		handled = append(handled, path)
		switch {
		case c.own:
			p.own = append(p.own, path)
		case c.aside: // blamed already
		case !now.Before(p.due(path, c)):
			p.blame(now, path)
		}
	}
	clear(p.pending)
	return handled
}

// blame counts a path as the cause of a run.
func (p *Pace) blame(now time.Time, path string) {
	r := p.known[path]
	if r == nil {
		r = &record{}
		p.known[path] = r
	}
	r.runs++
	r.last = now
}

// Forget discards the pending changes: a run of everything is planned anyway.
func (p *Pace) Forget() { clear(p.pending) }

// End records that the run ended: the paths that changed meanwhile, and those among them of
// resources that the run itself changed. Having to correct a path that was only to be checked again
// counts as drift too.
func (p *Pace) End(now time.Time, changed, byRun []string) {
	for _, path := range p.own {
		if slices.Contains(byRun, path) {
			p.blame(now, path)
		}
	}
	p.own = nil
	for _, path := range changed {
		p.saw(now, []string{path}, slices.Contains(byRun, path))
	}
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
