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
	// SettleAside is Settle for the few resources of an aside: before a run handles all of them.
	SettleAside = 200 * time.Millisecond
	// CheckEverything is the longest delay before a run checks everything after an aside, if asides have handled all changes.
	CheckEverything = 10 * time.Second
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
//
// An aside is a partial run of the resources of some paths, during a run or between two. Each change is handled by at
// most one, and then by a run, which does not hurry if the aside has covered the path: has handled all of its resources.
type Pace struct {
	Most time.Duration // the longest delay: there is a run at least that often anyway
	// Prompt selects paths that change in one step, so that an aside handles a change of a calm one at once. Optional.
	Prompt func(path string) bool

	pending map[string]*change
	known   map[string]*record
	own     []string // paths that the current run checks again

	covered    func(path string) bool // by the current aside; nil is no path
	asideOwn   []string               // paths that the current aside checks again
	checkBy    time.Time              // when a run is to check everything; zero if no aside has covered a path since the last one
	asideBegan time.Time
	rest       time.Time // when the next aside may begin: asides take at most half of the time
}

// A change is one that no run has handled yet.
type change struct {
	first, last time.Time
	own         bool // made by a run: to be checked again
	begun       bool // its latest sign is the creation of a file, which may still be written
	aside       bool // an aside has handled it for some resources; the next run checks it for all
	covered     bool // or asides are enough until then
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
		if c.covered {
			c.first = now
		}
		c.last = now
		c.own = c.own && own
		c.aside, c.covered = false, false
		if r := p.known[path]; r != nil && now.Sub(r.last) > p.wait(r)+Calm {
			delete(p.known, path)
		}
	}
}

// Begun says of which of some paths that changed the latest sign is their creation.
func (p *Pace) Begun(of []string, begun map[string]bool) {
	for _, path := range of {
		if c := p.pending[path]; c != nil {
			c.begun = begun[path]
		}
	}
}

// Due returns when to run; the zero time if nothing changed.
func (p *Pace) Due() time.Time {
	var due time.Time
	for path, c := range p.pending {
		due = soonest(due, p.due(path, c))
	}
	return due
}

// DueAside returns when an aside is to handle changes of some paths; the zero time if there are none.
func (p *Pace) DueAside(include func(path string) bool) time.Time {
	var due time.Time
	for path, c := range p.pending {
		if !c.aside && include(path) {
			due = soonest(due, latest(p.dueAside(path, c), p.rest))
		}
	}
	return due
}

// BeginAside records that an aside handles the changes of some paths, and returns the paths. It covers some of them; nil is none.
// They stay pending, since other resources may depend on them, and since what they notify may have had its turn.
func (p *Pace) BeginAside(now time.Time, include, covers func(path string) bool) (handled []string) {
	p.asideBegan, p.covered = now, covers
	for path, c := range p.pending {
		if c.aside || !include(path) || c.begun && now.Before(p.dueAside(path, c)) {
			continue
		}
		switch {
		case c.own:
			p.asideOwn = append(p.asideOwn, path)
		case !now.Before(p.dueAside(path, c)):
			p.blame(now, path)
		}
		c.aside = true
		p.cover(now, path, c)
		handled = append(handled, path)
	}
	return handled
}

// EndAside records the paths that changed during an aside, and those among them of resources that it changed.
func (p *Pace) EndAside(now time.Time, changed, byAside []string) {
	p.rest = now.Add(min(now.Sub(p.asideBegan), SettleMost))
	p.saw(now, changed, false)
	for _, path := range byAside {
		if p.pending[path] != nil { // also what was seen during the aside
			delete(p.pending, path)
			p.saw(now, []string{path}, true)
			p.cover(now, path, p.pending[path])
		}
	}
	for _, path := range p.asideOwn {
		if slices.Contains(byAside, path) {
			p.blame(now, path)
		}
	}
	p.covered, p.asideOwn = nil, nil
}

// cover leaves a change to asides, until a run checks everything, if they cover its path.
func (p *Pace) cover(now time.Time, path string, c *change) {
	if c.covered = p.covered != nil && p.covered(path); c.covered && p.checkBy.IsZero() {
		p.checkBy = now.Add(CheckEverything)
	}
}

// CheckNow makes the run due that checks everything.
func (p *Pace) CheckNow(now time.Time) {
	if !p.checkBy.IsZero() {
		p.checkBy = now
	}
}

func (p *Pace) due(path string, c *change) time.Time {
	if c.covered {
		return p.checkBy
	}
	at := earliest(c.last.Add(Settle), c.first.Add(SettleMost))
	if c.own {
		at = c.first.Add(Again)
	}
	if c.aside { // blamed already
		return at
	}
	return p.backedOff(path, at)
}

func (p *Pace) dueAside(path string, c *change) time.Time {
	switch {
	case c.own:
		return p.backedOff(path, c.first.Add(Again))
	case p.Prompt != nil && p.Prompt(path) && !c.begun:
		return p.backedOff(path, c.first)
	}
	return p.backedOff(path, earliest(c.last.Add(SettleAside), c.first.Add(SettleMost)))
}

// backedOff is a time, or the one until which a path has to wait.
func (p *Pace) backedOff(path string, at time.Time) time.Time {
	if r := p.known[path]; r != nil {
		return latest(at, r.last.Add(p.wait(r)))
	}
	return at
}

// Calms returns when a path is calm if nothing changes it any more: its backoff is reset then.
func (p *Pace) Calms(now time.Time, path string) time.Time {
	if r := p.known[path]; r != nil {
		return latest(now, r.last.Add(p.wait(r))).Add(Calm)
	}
	return now.Add(Calm)
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
	p.checkBy = time.Time{}
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
func (p *Pace) Forget() {
	clear(p.pending)
	p.checkBy = time.Time{}
}

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
	for _, path := range byRun {
		if p.pending[path] != nil { // seen during the run
			delete(p.pending, path)
			p.saw(now, []string{path}, true)
		}
	}
	for _, path := range changed {
		p.saw(now, []string{path}, slices.Contains(byRun, path))
	}
}

// soonest is earliest if the zero time means never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return earliest(a, b)
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
