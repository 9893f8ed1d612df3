package drift

import (
	"slices"
	"time"
)

// How long after a change a run is due. What changes is left to settle, as a package
// that is being installed changes one thing after the other, yet not for ever.
const (
	Settle     = 250 * time.Millisecond
	SettleMost = 2 * time.Second
	// Again is when a run looks once more at what it changed itself, in case that
	// someone else changed it meanwhile, and the wait after a first drift. It doubles
	// with each that follows.
	Again = time.Second
	// Calm is how long nothing may happen to a path for what happened to be forgotten.
	Calm = time.Minute
)

// A Pace is how soon to run after which changes: at once as a rule, but ever later after
// those to a path that changes again and again, as where another tool wants it
// otherwise. Paths have a pace each. Its methods are pure except for its own fields.
type Pace struct {
	Most time.Duration // the longest wait: there is a run at least that often anyway

	pending map[string]*change
	known   map[string]*record
	own     []string // paths that the run under way was to look at once more
}

// A change is one that no run has seen yet.
type change struct {
	first, last time.Time
	own         bool // of a run: to be looked at once more
}

// A record is what is known of a path that changed before.
type record struct {
	runs int // that it was the reason of
	last time.Time
}

// Saw notes that paths changed.
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
		if r := p.known[path]; r != nil && now.Sub(r.last) > p.wait(r)+Calm {
			delete(p.known, path)
		}
	}
}

// Due is when to run; the zero time if nothing happened.
func (p *Pace) Due() time.Time {
	var due time.Time
	for path, c := range p.pending {
		if at := p.due(path, c); due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
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

// wait is how long after the last run for a path the next one is.
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

// Begin notes that a run begins, whatever for: it sees all that changed so far.
func (p *Pace) Begin(now time.Time) {
	p.own = nil
	for path, c := range p.pending {
		switch {
		case c.own:
			p.own = append(p.own, path)
		case !now.Before(p.due(path, c)):
			p.blame(now, path)
		}
	}
	clear(p.pending)
}

// blame counts a path as the reason of a run.
func (p *Pace) blame(now time.Time, path string) {
	r := p.known[path]
	if r == nil {
		r = &record{}
		p.known[path] = r
	}
	r.runs++
	r.last = now
}

// Forget forgets what no run has seen yet: a run of everything is planned anyway.
func (p *Pace) Forget() { clear(p.pending) }

// End notes that the run ended: which paths changed meanwhile, and which of them are of
// resources that the run itself changed. To have to change again what was only to be
// looked at once more is drift, too.
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
