package drift

import (
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
)

// The delays after a change. Changes are debounced, since installing a package changes one thing
// after another, but only up to a maximum.
const (
	RunDebounce        = 250 * time.Millisecond // for a run of everything
	CorrectionDebounce = 200 * time.Millisecond // for the few resources of a correction, before a run handles all of them
	MaxDebounce        = 2 * time.Second
	// FullCheckDelay is the longest delay before a run checks everything after a correction.
	FullCheckDelay = 10 * time.Second
	// RecheckDelay is the delay before Fettle's own changes are checked, in case someone else has changed
	// them meanwhile. It is also the backoff after a first drift, which doubles with each further
	// one.
	RecheckDelay = time.Second
	// QuietTime is how long a resource must not change for its backoff to be reset.
	QuietTime = time.Minute
)

// A Queue says when resources that may have drifted are due to be checked. As a rate-limited workqueue, it merges what is added
// again before it is handled, debounces, and backs off exponentially from each resource that comes back. Unlike that, it
// never waits: the time is a parameter of its methods, which only modify its own fields, so one loop can wait for this and for
// other events.
//
// There are two ways to handle a resource: a correction handles a few, a run everything.
type Queue struct {
	MaxBackoff time.Duration // there is a run at least that often anyway
	// AtomicWrites reports whether other programs change what a resource manages in one step, so that its first change is due
	// at once. Optional.
	AtomicWrites func(resource.Ref) bool

	items    map[resource.Ref]*item
	limits   map[resource.Ref]*limit
	runBy    time.Time      // when a run is due to check everything after corrections; zero if there was none
	checking []resource.Ref // own changes that the run or correction in progress checks again
	began    time.Time      // of the correction in progress
	cooldown time.Time      // when the next correction may begin: corrections take at most half of the time
}

// An item is a resource that is waiting to be checked.
type item struct {
	first, last time.Time // of its changes
	own         bool      // Fettle has made all of them
	unfinished  bool      // the last one is the creation of a file, which may still be written
	noRun       bool      // a correction is enough until runBy
}

// A limit is the rate limit of a resource that was due before.
type limit struct {
	times       int // that it was due
	last        time.Time
	corrections int       // without a quiet time between them
	quietAt     time.Time // the end of the last correction's quiet time, if nothing more happens
}

// Add adds resources that something has changed.
func (q *Queue) Add(now time.Time, refs ...resource.Ref) {
	for _, ref := range refs {
		q.add(now, ref).own = false
	}
}

// AddOwn adds resources that Fettle has changed itself.
func (q *Queue) AddOwn(now time.Time, refs ...resource.Ref) {
	for _, ref := range refs {
		q.add(now, ref)
	}
}

func (q *Queue) add(now time.Time, ref resource.Ref) *item {
	if q.items == nil {
		q.items, q.limits = map[resource.Ref]*item{}, map[resource.Ref]*limit{}
	}
	i := q.items[ref]
	if i == nil {
		i = &item{first: now, own: true}
		q.items[ref] = i
	}
	if i.noRun {
		i.first, i.noRun = now, false
	}
	i.last = now
	if l := q.limits[ref]; l != nil && now.Sub(l.last) > q.backoff(l)+QuietTime {
		l.times = 0
	}
	return i
}

// waiting returns what was added and is not taken.
func (q *Queue) waiting() []resource.Ref { return slices.Collect(maps.Keys(q.items)) }

// SetUnfinished says of which resources the last change is the creation of a file.
func (q *Queue) SetUnfinished(refs []resource.Ref, created func(resource.Ref) bool) {
	for _, ref := range refs {
		if i := q.items[ref]; i != nil {
			i.unfinished = created(ref)
		}
	}
}

// RunDue returns when a run of everything is due; the zero time if nothing has changed.
func (q *Queue) RunDue() time.Time {
	due := q.runBy
	for ref, i := range q.items {
		if !i.noRun {
			due = soonest(due, q.limited(ref, i.runDue()))
		}
	}
	return due
}

// CorrectionDue returns when a correction of some resources is due; the zero time if none of them has changed.
func (q *Queue) CorrectionDue(of func(resource.Ref) bool) time.Time {
	var due time.Time
	for ref, i := range q.items {
		if of(ref) {
			due = soonest(due, latest(q.correctionDue(ref, i), q.cooldown))
		}
	}
	return due
}

// BeginCorrection takes those of some resources that have changed, for a correction. A run checks everything later: soon, if
// one is in progress, since resources that they notify may have had their turn in it.
func (q *Queue) BeginCorrection(now time.Time, of func(resource.Ref) bool, duringRun bool) (taken []resource.Ref) {
	q.began = now
	for ref, i := range q.items {
		due := q.correctionDue(ref, i)
		if !of(ref) || i.unfinished && now.Before(due) {
			continue
		}
		runBy := now.Add(FullCheckDelay)
		if duringRun {
			runBy = i.runDue()
		}
		q.runBy = soonest(q.runBy, runBy)
		q.charge(now, ref, i, due)
		delete(q.items, ref)
		taken = append(taken, ref)
	}
	return taken
}

// EndCorrection ends a correction, with the resources that others have changed meanwhile, and those that it has changed itself.
func (q *Queue) EndCorrection(now time.Time, changed, own []resource.Ref, duringRun bool) {
	q.cooldown = now.Add(min(now.Sub(q.began), MaxDebounce))
	q.end(now, changed, own)
	for _, ref := range own {
		if i := q.items[ref]; i != nil && i.own {
			i.noRun = !duringRun
		}
	}
}

// BeginRun takes all resources, for a run of everything, whatever causes it.
func (q *Queue) BeginRun(now time.Time) (taken []resource.Ref) {
	for ref, i := range q.items {
		q.charge(now, ref, i, q.limited(ref, i.runDue()))
		taken = append(taken, ref)
	}
	q.Forget()
	return taken
}

// EndRun ends a run, with the resources that others have changed meanwhile, and those that it has changed itself.
func (q *Queue) EndRun(now time.Time, changed, own []resource.Ref) { q.end(now, changed, own) }

// end adds what has changed. To correct again what was only to be checked counts as drift, too.
func (q *Queue) end(now time.Time, changed, own []resource.Ref) {
	q.Add(now, changed...)
	for _, ref := range own {
		delete(q.items, ref) // also what was seen meanwhile
		q.AddOwn(now, ref)
	}
	for _, ref := range q.checking {
		if i := q.items[ref]; i != nil && i.own {
			q.count(now, ref)
		}
	}
	q.checking = nil
}

// charge counts a resource that is taken when it is due.
func (q *Queue) charge(now time.Time, ref resource.Ref, i *item, due time.Time) {
	switch {
	case i.own:
		q.checking = append(q.checking, ref)
	case !now.Before(due):
		q.count(now, ref)
	}
}

func (q *Queue) count(now time.Time, ref resource.Ref) {
	l := q.limitOf(ref)
	l.times++
	l.last = now
}

func (q *Queue) limitOf(ref resource.Ref) *limit {
	if q.limits[ref] == nil {
		if q.limits == nil {
			q.limits = map[resource.Ref]*limit{}
		}
		q.limits[ref] = &limit{}
	}
	return q.limits[ref]
}

// RunNow makes the run due that checks everything after corrections.
func (q *Queue) RunNow(now time.Time) {
	if !q.runBy.IsZero() {
		q.runBy = now
	}
}

// Forget discards what is waiting: a run of everything is planned anyway.
func (q *Queue) Forget() {
	clear(q.items)
	q.runBy = time.Time{}
}

// runDue is when a run is due for an item without a limit.
func (i *item) runDue() time.Time {
	if i.own {
		return i.first.Add(RecheckDelay)
	}
	return earliest(i.last.Add(RunDebounce), i.first.Add(MaxDebounce))
}

func (q *Queue) correctionDue(ref resource.Ref, i *item) time.Time {
	due := earliest(i.last.Add(CorrectionDebounce), i.first.Add(MaxDebounce))
	switch {
	case i.own:
		due = i.first.Add(RecheckDelay)
	case q.AtomicWrites != nil && q.AtomicWrites(ref) && !i.unfinished:
		due = i.first
	}
	return q.limited(ref, due)
}

// limited is a time, or the one until which a resource has to wait.
func (q *Queue) limited(ref resource.Ref, at time.Time) time.Time {
	if l := q.limits[ref]; l != nil && l.times > 0 {
		return latest(at, l.last.Add(q.backoff(l)))
	}
	return at
}

// backoff returns the minimum time until a resource is due again.
func (q *Queue) backoff(l *limit) time.Duration {
	wait := RecheckDelay
	for range l.times - 1 {
		if wait >= q.MaxBackoff {
			break
		}
		wait *= 2
	}
	return min(wait, q.MaxBackoff)
}

// contendedAfter is the number of corrections, without a quiet time between them, that make a contest.
const contendedAfter = 3

// Corrected counts corrections of drift.
func (q *Queue) Corrected(now time.Time, refs ...resource.Ref) {
	for _, ref := range refs {
		l := q.limitOf(ref)
		if now.After(l.quietAt) {
			l.corrections = 0
		}
		l.corrections++
		l.quietAt = q.limited(ref, now).Add(QuietTime)
	}
}

// Contended returns the resources that something else changes again and again, against their corrections.
func (q *Queue) Contended(now time.Time) map[resource.Ref]bool {
	refs := map[resource.Ref]bool{}
	for ref, l := range q.limits {
		switch quiet := now.After(l.quietAt); {
		case quiet && now.Sub(l.last) > q.backoff(l)+QuietTime:
			delete(q.limits, ref)
		case !quiet && l.corrections >= contendedAfter:
			refs[ref] = true
		}
	}
	return refs
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
