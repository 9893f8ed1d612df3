package drift

import (
	"errors"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Watcher watches a host for changes of what resources manage. Not safe for concurrent use. The nil Watcher sees nothing.
type Watcher struct {
	host    host.Reader
	watch   host.Watch
	queue   Queue
	watched watched
	earlier map[resource.Ref]bool // may have drifted before the run in progress began
	authors authors
}

// watched is what is watched for resources, as of the last call of follow.
type watched struct {
	paths  map[resource.Ref][]string // nil before
	refs   map[string][]resource.Ref // by path
	atOnce map[resource.Ref]bool
}

// ErrCannotWatch is the error for a host that does not report changes.
var ErrCannotWatch = errors.New("cannot watch the host: it does not report changes")

// New returns a Watcher. interval is the longest time between runs. The caller closes the Watcher.
func New(h host.Reader, interval time.Duration) (*Watcher, error) {
	watcher, ok := h.(host.Watcher)
	if !ok {
		return nil, ErrCannotWatch
	}
	watch, err := watcher.Watch()
	if err != nil {
		return nil, err
	}
	w := &Watcher{host: h, watch: watch, authors: newAuthors()}
	w.queue = Queue{MaxBackoff: interval, AtomicWrites: func(ref resource.Ref) bool { return w.watched.atOnce[ref] }}
	return w, nil
}

// Close stops watching.
func (w *Watcher) Close() error {
	if w == nil {
		return nil
	}
	return w.watch.Close()
}

// Ready receives when there are changes.
func (w *Watcher) Ready() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.watch.Ready()
}

// Poll records the changes so far.
func (w *Watcher) Poll(now time.Time) {
	if w == nil {
		return
	}
	changed := w.take()
	w.queue.Add(now, changed.refs...)
	w.setUnfinished(changed)
}

// changes are what the host has reported.
type changes struct {
	refs    []resource.Ref
	created map[resource.Ref]bool // by a file that may still be written
}

func (w *Watcher) take() changes {
	paths := w.watch.Take()
	c := changes{created: map[resource.Ref]bool{}}
	begun := w.watch.Begun()
	for _, path := range paths {
		for _, ref := range w.watched.refs[path] {
			c.refs = append(c.refs, ref)
			c.created[ref] = begun[path]
		}
	}
	return c
}

func (w *Watcher) setUnfinished(c changes) {
	w.queue.SetUnfinished(c.refs, func(ref resource.Ref) bool { return c.created[ref] })
}

// RunDue returns when a run is due for the recorded changes; the zero time if there are none.
func (w *Watcher) RunDue() time.Time {
	if w == nil {
		return time.Time{}
	}
	return w.queue.RunDue()
}

// CorrectionDue returns when a correction of some resources is due; the zero time if they have not changed.
func (w *Watcher) CorrectionDue(of map[resource.Ref]bool) time.Time {
	if w == nil || len(of) == 0 {
		return time.Time{}
	}
	return w.queue.CorrectionDue(in(of))
}

func in(refs map[resource.Ref]bool) func(resource.Ref) bool {
	return func(ref resource.Ref) bool { return refs[ref] }
}

// BeginRun is called when a run of these resources begins, on a host with these facts. The error names
// the paths that can't be watched; the other paths are watched.
func (w *Watcher) BeginRun(now time.Time, items []resource.Item, facts resource.Facts) error {
	if w == nil {
		return nil
	}
	w.Poll(now)
	w.earlier = map[resource.Ref]bool{}
	for _, ref := range w.queue.BeginRun(now) {
		w.earlier[ref] = true
	}
	w.authors.begin(w.watch.Authors())
	if w.watched.paths == nil { // nobody has watched so far
		for _, item := range items {
			w.earlier[item.Ref] = true
		}
	}
	if w.knows(items) { // a correction may have restored a directory
		return w.followPaths()
	}
	// Changes during the run must not be missed.
	for _, item := range items {
		if item.Resource != nil {
			_ = item.Resource.Choose(facts, w.host, item.Provider) // the run reports the error
		}
	}
	return w.follow(items)
}

// EndRun is called when a run has ended, with the resources that it changed.
func (w *Watcher) EndRun(now time.Time, items []resource.Item, changed []resource.Ref) error {
	if w == nil {
		return nil
	}
	seen, byRun := w.takeOthers(changed)
	err := w.follow(items)
	w.queue.EndRun(now, seen.refs, byRun)
	w.setUnfinished(seen)
	return err
}

// BeginCorrection takes those of some resources that may have drifted, for a correction.
func (w *Watcher) BeginCorrection(now time.Time, of map[resource.Ref]bool, duringRun bool) map[resource.Ref]bool {
	w.Poll(now)
	drifted := map[resource.Ref]bool{}
	var paths []string
	for _, ref := range w.queue.BeginCorrection(now, in(of), duringRun) {
		drifted[ref] = true
		paths = append(paths, w.watched.paths[ref]...)
	}
	w.authors.beginCorrection(w.watch.Authors(), paths)
	return drifted
}

// BeginEarlier takes those of some resources that may have drifted before the run in progress began, each once a run.
func (w *Watcher) BeginEarlier(of map[resource.Ref]bool) map[resource.Ref]bool {
	drifted := map[resource.Ref]bool{}
	for ref := range of {
		if w.earlier[ref] {
			delete(w.earlier, ref)
			drifted[ref] = true
		}
	}
	return drifted
}

// EndCorrection is called when a correction has ended, with the resources that it changed.
func (w *Watcher) EndCorrection(now time.Time, changed []resource.Ref, duringRun bool) error {
	seen, own := w.takeOthers(changed)
	w.queue.EndCorrection(now, seen.refs, own, duringRun)
	w.setUnfinished(seen)
	return w.followPaths()
}

// takeOthers takes the changes so far. own are the resources that have a path of those that were changed, also those that were waiting; seen
// are all others.
func (w *Watcher) takeOthers(changed []resource.Ref) (seen changes, own []resource.Ref) {
	paths := map[string]bool{}
	for _, ref := range changed {
		for _, path := range w.watched.paths[ref] {
			paths[path] = true
		}
	}
	isOwn := func(ref resource.Ref) bool {
		return slices.ContainsFunc(w.watched.paths[ref], func(path string) bool { return paths[path] })
	}
	seen = w.take()
	for _, ref := range slices.Concat(seen.refs, w.queue.waiting()) {
		if isOwn(ref) {
			own = append(own, ref)
		}
	}
	seen.refs = slices.DeleteFunc(seen.refs, isOwn)
	return seen, own
}

// RunNow makes a run due after corrections.
func (w *Watcher) RunNow(now time.Time) {
	if w != nil {
		w.queue.RunNow(now)
	}
}

// Corrected is called after each run and correction, with the resources of which it has corrected drift.
func (w *Watcher) Corrected(now time.Time, refs []resource.Ref) {
	if w != nil {
		w.queue.Corrected(now, refs...)
	}
}

// Contended returns the resources that something else changes again and again, against their corrections.
func (w *Watcher) Contended(now time.Time) map[resource.Ref]bool {
	if w == nil {
		return nil
	}
	return w.queue.Contended(now)
}

// Forget discards the recorded changes when no run for them is possible. A later run handles
// everything.
func (w *Watcher) Forget() {
	if w != nil {
		w.queue.Forget()
	}
}

func (w *Watcher) knows(items []resource.Item) bool {
	return !slices.ContainsFunc(items, func(i resource.Item) bool {
		_, known := w.watched.paths[i.Ref]
		return !known
	})
}

// follow watches the paths of the resources.
func (w *Watcher) follow(items []resource.Item) error {
	w.watched = watched{map[resource.Ref][]string{}, map[string][]resource.Ref{}, map[resource.Ref]bool{}}
	for _, item := range items {
		w.watched.paths[item.Ref] = nil
		if item.Resource == nil {
			continue
		}
		paths := item.Resource.Watched(w.host)
		w.watched.paths[item.Ref] = paths
		w.watched.atOnce[item.Ref] = item.Resource.Traits().AtomicWrites
		for _, path := range paths {
			w.watched.refs[path] = append(w.watched.refs[path], item.Ref)
		}
	}
	return w.followPaths()
}

func (w *Watcher) followPaths() error {
	paths := make([]string, 0, len(w.watched.refs))
	for path := range w.watched.refs {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return w.watch.Follow(paths)
}
