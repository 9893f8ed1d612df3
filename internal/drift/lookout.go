package drift

import (
	"errors"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A Lookout looks out for changes on a host between runs. Not safe for concurrent use.
// The nil Lookout sees nothing.
type Lookout struct {
	host     host.Reader
	watch    host.Watch
	pace     Pace
	paths    map[resource.Ref][]string // of the resources as they were last seen
	followed []string                  // nil: must be followed again
}

// ErrCannotWatch is that of a host which tells of no changes.
var ErrCannotWatch = errors.New("cannot watch the host: it tells of no changes")

// New makes a Lookout that keeps a pace; most is the longest time between runs. The
// caller closes it.
func New(h host.Reader, most time.Duration) (*Lookout, error) {
	w, ok := h.(host.Watcher)
	if !ok {
		return nil, ErrCannotWatch
	}
	watch, err := w.Watch()
	if err != nil {
		return nil, err
	}
	return &Lookout{host: h, watch: watch, pace: Pace{Most: most}}, nil
}

// Close ends it.
func (l *Lookout) Close() error {
	if l == nil {
		return nil
	}
	return l.watch.Close()
}

// Ready receives when there is something to see.
func (l *Lookout) Ready() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.watch.Ready()
}

// See takes note of what changed.
func (l *Lookout) See(now time.Time) {
	if l != nil {
		l.pace.Saw(now, l.take()...)
	}
}

// Due is when to run for what was seen; the zero time if nothing was.
func (l *Lookout) Due() time.Time {
	if l == nil {
		return time.Time{}
	}
	return l.pace.Due()
}

// Begin says that a run of these resources begins, on a host with these facts. What
// can't be watched is an error that names it; the rest is.
func (l *Lookout) Begin(now time.Time, items []resource.Item, facts resource.Facts) error {
	if l == nil {
		return nil
	}
	l.See(now)
	l.pace.Begin(now)
	if l.knows(items) {
		return nil
	}
	// What changes while they have their turn is not to be missed.
	for _, item := range items {
		if item.Resource != nil {
			_ = item.Resource.Choose(facts, l.host, item.Provider) // the run will tell
		}
	}
	return l.follow(items)
}

// Forget forgets what was seen, where a run for it can't be: who tries that again sees
// everything then.
func (l *Lookout) Forget() {
	if l != nil {
		l.pace.Forget()
	}
}

// End says that the run ended, and what it changed.
func (l *Lookout) End(now time.Time, items []resource.Item, changed []resource.Ref) error {
	if l == nil {
		return nil
	}
	seen := l.take()
	err := l.follow(items)
	var byRun []string
	for _, ref := range changed {
		byRun = append(byRun, l.paths[ref]...)
	}
	l.pace.End(now, seen, byRun)
	return err
}

func (l *Lookout) knows(items []resource.Item) bool {
	return !slices.ContainsFunc(items, func(i resource.Item) bool {
		_, known := l.paths[i.Ref]
		return !known
	})
}

// take takes what changed. Directories may have come and gone with it, so that what is
// followed must be looked up again.
func (l *Lookout) take() []string {
	seen := l.watch.Take()
	if len(seen) > 0 {
		l.followed = nil
	}
	return seen
}

// follow watches what the resources ask for.
func (l *Lookout) follow(items []resource.Item) error {
	l.paths = map[resource.Ref][]string{}
	all := []string{}
	for _, item := range items {
		l.paths[item.Ref] = nil
		if item.Resource != nil {
			l.paths[item.Ref] = item.Resource.Watched(l.host)
		}
		all = append(all, l.paths[item.Ref]...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if l.followed != nil && slices.Equal(all, l.followed) {
		return nil
	}
	l.followed = all
	return l.watch.Follow(all)
}
