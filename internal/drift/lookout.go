package drift

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Lookout watches a host for changes between runs. Not safe for concurrent use. The nil Lookout
// observes nothing.
type Lookout struct {
	host     host.Reader
	watch    host.Watch
	pace     Pace
	paths    map[resource.Ref][]string // of the resources as of the last call of follow
	followed []string                  // all of them
	slow     map[string]bool           // paths of resources that are not [resource.Traits].Prompt
	earlier  map[resource.Ref]bool     // that may have drifted before the run in progress began
	authors  authors
	contests contests
}

// ErrCannotWatch is the error for a host that does not report changes.
var ErrCannotWatch = errors.New("cannot watch the host: it does not report changes")

// New returns a Lookout. most is the longest time between runs. The caller closes the Lookout.
func New(h host.Reader, most time.Duration) (*Lookout, error) {
	w, ok := h.(host.Watcher)
	if !ok {
		return nil, ErrCannotWatch
	}
	watch, err := w.Watch()
	if err != nil {
		return nil, err
	}
	l := &Lookout{host: h, watch: watch, authors: newAuthors(), contests: contests{}}
	l.pace = Pace{Most: most, Prompt: func(path string) bool { return !l.slow[path] }}
	return l, nil
}

// Close stops watching.
func (l *Lookout) Close() error {
	if l == nil {
		return nil
	}
	return l.watch.Close()
}

// Ready receives when there are changes.
func (l *Lookout) Ready() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.watch.Ready()
}

// See records the changes so far.
func (l *Lookout) See(now time.Time) {
	if l != nil {
		seen := l.watch.Take()
		l.pace.Saw(now, seen...)
		l.pace.Begun(seen, l.watch.Begun())
	}
}

// Due returns when to run for the recorded changes; the zero time if there are none.
func (l *Lookout) Due() time.Time {
	if l == nil {
		return time.Time{}
	}
	return l.pace.Due()
}

// Begin is called when a run of these resources begins, on a host with these facts. The error names
// the paths that can't be watched; the other paths are watched.
func (l *Lookout) Begin(now time.Time, items []resource.Item, facts resource.Facts) error {
	if l == nil {
		return nil
	}
	l.See(now)
	l.earlier = l.of(l.pace.Begin(now))
	l.authors.begin(l.watch.Authors())
	if l.paths == nil { // nobody has watched so far
		for _, item := range items {
			l.earlier[item.Ref] = true
		}
	}
	if l.knows(items) { // an aside may have restored a directory
		return l.watch.Follow(l.followed)
	}
	// Changes during the run must not be missed.
	for _, item := range items {
		if item.Resource != nil {
			_ = item.Resource.Choose(facts, l.host, item.Provider) // the run reports the error
		}
	}
	return l.follow(items)
}

// DueAside returns when an aside, during a run or between two, is to handle the changes that show drift of these resources;
// the zero time if there are none.
func (l *Lookout) DueAside(can map[resource.Ref]bool) time.Time {
	if l.Due().IsZero() {
		return time.Time{}
	}
	return l.pace.DueAside(l.pathsOf(can))
}

// BeginAside is called when these changes are handled during a run. It returns those of the resources that may have drifted.
func (l *Lookout) BeginAside(now time.Time, can map[resource.Ref]bool) map[resource.Ref]bool {
	return l.beginAside(now, can, nil) // it covers no path: what they notify may have had its turn
}

// BeginPartial is [Lookout.BeginAside] for a partial run between two others.
func (l *Lookout) BeginPartial(now time.Time, can map[resource.Ref]bool) map[resource.Ref]bool {
	rest := map[resource.Ref]bool{}
	for ref := range l.paths {
		if !can[ref] {
			rest[ref] = true
		}
	}
	left := l.pathsOf(rest)
	return l.beginAside(now, can, func(path string) bool { return !left(path) })
}

// CheckNow makes a run due after a partial one.
func (l *Lookout) CheckNow(now time.Time) { l.pace.CheckNow(now) }

func (l *Lookout) beginAside(now time.Time, can map[resource.Ref]bool, covers func(path string) bool) map[resource.Ref]bool {
	l.See(now)
	handled := l.pace.BeginAside(now, l.pathsOf(can), covers)
	l.authors.beginAside(l.watch.Authors(), handled)
	drifted := l.of(handled)
	maps.DeleteFunc(drifted, func(ref resource.Ref, _ bool) bool { return !can[ref] })
	return drifted
}

// Earlier is called when resources are handled during a run, before their turn. It returns those that may have drifted before
// the run began, each once a run.
func (l *Lookout) Earlier(waiting map[resource.Ref]bool) map[resource.Ref]bool {
	drifted := map[resource.Ref]bool{}
	for ref := range waiting {
		if l.earlier[ref] {
			delete(l.earlier, ref)
			drifted[ref] = true
		}
	}
	return drifted
}

// of returns the resources of paths.
func (l *Lookout) of(paths []string) map[resource.Ref]bool {
	refs, wanted := map[resource.Ref]bool{}, map[string]bool{}
	for _, path := range paths {
		wanted[path] = true
	}
	for ref, watched := range l.paths {
		if slices.ContainsFunc(watched, func(path string) bool { return wanted[path] }) {
			refs[ref] = true
		}
	}
	return refs
}

// EndAside is called when they were handled, with the resources that were changed.
func (l *Lookout) EndAside(now time.Time, changed []resource.Ref) error {
	seen := l.watch.Take()
	var by []string
	for _, ref := range changed {
		by = append(by, l.paths[ref]...)
	}
	l.pace.EndAside(now, seen, by)
	l.pace.Begun(seen, l.watch.Begun())
	return l.watch.Follow(l.followed)
}

// Corrected is called after each run and aside, with the resources of which it has corrected drift.
func (l *Lookout) Corrected(now time.Time, refs []resource.Ref) {
	if l == nil {
		return
	}
	for _, ref := range refs {
		calms := now.Add(Calm)
		for _, path := range l.paths[ref] {
			calms = latest(calms, l.pace.Calms(now, path))
		}
		l.contests.corrected(now, ref, calms)
	}
}

// Contended returns the resources that something else changes again and again, against their corrections.
func (l *Lookout) Contended(now time.Time) map[resource.Ref]bool {
	if l == nil {
		return nil
	}
	return l.contests.contended(now)
}

// pathsOf selects the paths of resources.
func (l *Lookout) pathsOf(refs map[resource.Ref]bool) func(path string) bool {
	paths := map[string]bool{}
	for ref := range refs {
		for _, path := range l.paths[ref] {
			paths[path] = true
		}
	}
	return func(path string) bool { return paths[path] }
}

// Forget discards the recorded changes when no run for them is possible. A later run handles
// everything.
func (l *Lookout) Forget() {
	if l != nil {
		l.pace.Forget()
	}
}

// End is called when a run has ended, with the resources that it changed.
func (l *Lookout) End(now time.Time, items []resource.Item, changed []resource.Ref) error {
	if l == nil {
		return nil
	}
	seen := l.watch.Take()
	err := l.follow(items)
	var byRun []string
	for _, ref := range changed {
		byRun = append(byRun, l.paths[ref]...)
	}
	l.pace.End(now, seen, byRun)
	l.pace.Begun(seen, l.watch.Begun())
	return err
}

func (l *Lookout) knows(items []resource.Item) bool {
	return !slices.ContainsFunc(items, func(i resource.Item) bool {
		_, known := l.paths[i.Ref]
		return !known
	})
}

// follow watches the paths of the resources.
func (l *Lookout) follow(items []resource.Item) error {
	l.paths, l.slow, l.followed = map[resource.Ref][]string{}, map[string]bool{}, nil
	for _, item := range items {
		l.paths[item.Ref] = nil
		if item.Resource == nil {
			continue
		}
		paths := item.Resource.Watched(l.host)
		if !item.Resource.Traits().Prompt {
			for _, path := range paths {
				l.slow[path] = true
			}
		}
		l.paths[item.Ref] = paths
		l.followed = append(l.followed, paths...)
	}
	slices.Sort(l.followed)
	l.followed = slices.Compact(l.followed)
	return l.watch.Follow(l.followed)
}
