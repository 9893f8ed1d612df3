// Package watch reports which paths of a host may have changed, and which process changed them.
//
// Events come by fanotify, which names the process. Where it is not available, or not for a filesystem, they come by inotify,
// which doesn't; and inotify alone reports the end of a directory. The package watches only directories: a file that is replaced is another file with the same name. Paths resolve
// inside the host's root directory, like everywhere else.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/resolve"
)

var _ host.Watch = (*Watch)(nil)

// A Watch implements [host.Watch].
type Watch struct {
	root  resolve.Root
	queue               // inotify's
	ready chan struct{} // of capacity one

	mu        sync.Mutex
	listening bool
	tracer    *tracer              // nil: all events come by inotify
	interests map[int32]*interests // by inotify's watch descriptor
	followed  []string
	stale     bool            // directories above paths have changed, or could not be watched
	changed   map[string]bool // to whether the latest event is its creation
	begun     map[string]bool // of the last Take
	authors   map[string]*host.Author
}

// interests say which events of a directory concern a path.
type interests struct {
	any    []interest            // in any event
	byName map[string][]interest // in events of a name in the directory
}

// An interest is one in a path.
type interest struct {
	path  string // as the caller wrote it
	moves bool   // its events may change which directories are to be watched
}

// New starts a watch of no paths. The caller closes it, and keeps the root directory open until then.
func New(root resolve.Root) (*Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot watch the host (is fs.inotify.max_user_instances too low?): %w", err)
	}
	w := &Watch{
		root: root, ready: make(chan struct{}, 1), interests: map[int32]*interests{}, changed: map[string]bool{}, authors: map[string]*host.Author{},
	}
	if w.queue, err = newQueue(fd, "inotify", &w.mu); err != nil {
		return nil, err
	}
	w.tracer = newTracer(&w.mu)
	return w, nil
}

// Ready implements [host.Watch]. From the first call on, events are read as they come.
func (w *Watch) Ready() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.listening {
		w.listening = true
		go w.listen(w.record)
		w.listenTo(w.tracer)
	}
	return w.ready
}

func (w *Watch) listenTo(t *tracer) {
	if t != nil && w.listening {
		go t.listen(func(events []byte) bool { return w.recordTraced(t, events) })
	}
}

// Take implements [host.Watch].
func (w *Watch) Take() []string {
	w.drainAll()
	w.mu.Lock()
	defer w.mu.Unlock()
	paths := slices.Sorted(maps.Keys(w.changed))
	w.begun, w.changed = w.changed, map[string]bool{}
	maps.DeleteFunc(w.begun, func(_ string, begun bool) bool { return !begun })
	select { // what was drained is no reason to come again at once
	case <-w.ready:
	default:
	}
	return paths
}

// Begun implements [host.Watch].
func (w *Watch) Begun() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

// Authors implements [host.Watch].
func (w *Watch) Authors() map[string]*host.Author {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.authors
	w.authors = map[string]*host.Author{}
	return all
}

// drainAll records all pending events.
func (w *Watch) drainAll() {
	w.mu.Lock()
	t := w.tracer
	w.mu.Unlock()
	w.drainTracer(t)
	w.drain(w.record)
}

func (w *Watch) drainTracer(t *tracer) {
	if t != nil {
		t.drain(func(events []byte) bool { return w.recordTraced(t, events) })
	}
}

// Close implements [host.Watch].
func (w *Watch) Close() error {
	w.mu.Lock()
	t := w.tracer
	w.mu.Unlock()
	return errors.Join(w.file.Close(), t.close()) // which wait for record
}

// Follow implements [host.Watch]. It is cheap if the paths are the same and no directory above them has changed.
func (w *Watch) Follow(paths []string) error {
	w.mu.Lock()
	if !w.stale && slices.Equal(paths, w.followed) {
		w.mu.Unlock()
		return nil
	}
	old := w.tracer
	next, err := w.followAll(paths)
	if w.drop(next) && old != nil { // a mark is removed through its directory, which may have moved
		w.tracer = newTracer(&w.mu)
		next, err = w.followAll(paths)
		w.listenTo(w.tracer)
	}
	w.interests, w.followed, w.stale = next, slices.Clone(paths), err != nil
	renewed := w.tracer != old
	w.mu.Unlock()
	if renewed {
		w.drainTracer(old)
		err = errors.Join(err, old.close())
	}
	return err
}

// followAll returns the interests in paths.
func (w *Watch) followAll(paths []string) (map[int32]*interests, error) {
	next := newFollowing(paths)
	var errs []error
	for _, p := range paths {
		if err := w.follow(p, next); err != nil {
			errs = append(errs, err)
		}
	}
	return next.interests, errors.Join(errs...)
}

// drop stops watching directories that are of no interest any more, and reports whether there were any.
func (w *Watch) drop(next map[int32]*interests) (some bool) {
	for wd := range w.interests {
		if next[wd] == nil {
			some = true
			_ = w.raw.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) }) // it may be gone already
		}
	}
	return some
}

// A following collects interests.
type following struct {
	interests map[int32]*interests
	above     map[string]bool // directories above the paths
}

func newFollowing(paths []string) following {
	f := following{map[int32]*interests{}, map[string]bool{}}
	for _, p := range paths {
		for dir := path.Dir(path.Clean(p)); !f.above[dir]; dir = path.Dir(dir) {
			f.above[dir] = true
		}
	}
	return f
}

// add adds an interest in a name in a directory; "" is any name.
func (f following) add(wd int32, name string, i interest) {
	if f.interests[wd] == nil {
		f.interests[wd] = &interests{byName: map[string][]interest{}}
	}
	if d := f.interests[wd]; name == "" {
		d.any = append(d.any, i)
	} else {
		d.byName[name] = append(d.byName[name], i)
	}
}

// follow adds the directories to watch for a path.
func (w *Watch) follow(full string, to following) error {
	clean := path.Clean(full)
	if strings.HasSuffix(full, "/") {
		if err := w.add(clean, "", interest{path: full}, to); err != nil && !isMissing(err) {
			return err
		}
	}
	for range descriptor.MaxRetries {
		missing, err := w.followNearest(clean, full, to)
		if err != nil || missing == "" {
			return err
		}
		if !w.exists(missing) {
			return nil
		} // otherwise it was created before the watch was
	}
	return descriptor.PathError("watch", full, unix.EAGAIN)
}

func (w *Watch) exists(path string) bool {
	fd, err := w.root.Open(path, unix.O_PATH)
	if err == nil {
		_ = unix.Close(fd)
	}
	return !isMissing(err)
}

// followNearest watches the nearest existing directory above a path, for the path itself or for
// the missing directory on the way to it, which it returns.
func (w *Watch) followNearest(clean, full string, to following) (missing string, err error) {
	isDirectory := to.above[clean] || strings.HasSuffix(full, "/")
	for child := clean; ; {
		dir, name := path.Split(child)
		err := w.add(dir, name, interest{path: full, moves: isDirectory || child != clean}, to)
		if err == nil && child != clean {
			return child, nil
		}
		child = path.Clean(dir)
		if !isMissing(err) || child == "/" {
			return "", err
		}
	}
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// add watches one directory: by the tracer if that is possible, else by inotify alone.
func (w *Watch) add(dir, name string, i interest, to following) error {
	at, err := w.root.Open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return descriptor.PathError("watch", dir, err)
	}
	defer unix.Close(at)
	events := uint32(goneEvents)
	handle, untraced := w.tracer.mark(at)
	if untraced != nil {
		events = watchedEvents
	}
	wd, err := w.addWatch(at, events)
	if err != nil {
		return descriptor.PathError("watch", dir, err)
	}
	if untraced == nil {
		w.tracer.dirs[handle] = wd
	}
	to.add(wd, name, i)
	return nil
}

// addWatch watches a directory by inotify.
func (w *Watch) addWatch(at int, events uint32) (int32, error) {
	var wd int
	var err error
	controlErr := w.raw.Control(func(fd uintptr) {
		wd, err = unix.InotifyAddWatch(int(fd), descriptor.Path(at), events|unix.IN_ONLYDIR|unix.IN_EXCL_UNLINK)
	})
	if errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("fs.inotify.max_user_watches is too low: %w", err)
	}
	return int32(wd), errors.Join(controlErr, err)
}
