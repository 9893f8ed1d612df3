// Package watch reports which paths of a host may have changed, by inotify.
//
// It watches only directories: a file that is replaced is another file with the same name. Paths resolve
// inside the host's root directory, like everywhere else.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/resolve"
)

var _ host.Watch = (*Watch)(nil)

// A Watch implements [host.Watch].
type Watch struct {
	root   resolve.Root
	file   *os.File // the inotify descriptor
	raw    syscall.RawConn
	ready  chan struct{} // of capacity one
	listen sync.Once

	mu        sync.Mutex
	buffer    []byte               // for events
	interests map[int32]*interests // by watch descriptor
	followed  []string
	stale     bool // directories above paths have changed, or could not be watched
	changed   map[string]bool
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
		root: root, file: os.NewFile(uintptr(fd), "inotify"), ready: make(chan struct{}, 1),
		buffer: make([]byte, 64<<10), interests: map[int32]*interests{}, changed: map[string]bool{},
	}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// Ready implements [host.Watch]. From the first call on, events are read as they come.
func (w *Watch) Ready() <-chan struct{} {
	w.listen.Do(func() { go w.readEvents() })
	return w.ready
}

// Take implements [host.Watch].
func (w *Watch) Take() []string {
	_ = w.raw.Control(func(fd uintptr) { w.drain(int(fd)) }) // fails only after Close, when there are no more events
	w.mu.Lock()
	defer w.mu.Unlock()
	paths := slices.Sorted(maps.Keys(w.changed))
	clear(w.changed)
	return paths
}

// Close implements [host.Watch].
func (w *Watch) Close() error { return w.file.Close() }

// Follow implements [host.Watch]. It is cheap if the paths are the same and no directory above them has changed.
func (w *Watch) Follow(paths []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stale && slices.Equal(paths, w.followed) {
		return nil
	}
	next := newFollowing(paths)
	var errs []error
	for _, p := range paths {
		if err := w.follow(p, next); err != nil {
			errs = append(errs, err)
		}
	}
	for wd := range w.interests {
		if next.interests[wd] == nil {
			_ = w.raw.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) }) // it may be gone already
		}
	}
	w.interests, w.followed, w.stale = next.interests, slices.Clone(paths), len(errs) > 0
	return errors.Join(errs...)
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

// add watches one directory.
func (w *Watch) add(dir, name string, i interest, to following) error {
	at, err := w.root.Open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return descriptor.PathError("watch", dir, err)
	}
	defer unix.Close(at)
	var wd int
	controlErr := w.raw.Control(func(fd uintptr) {
		wd, err = unix.InotifyAddWatch(int(fd), descriptor.Path(at), watchedEvents|unix.IN_ONLYDIR|unix.IN_EXCL_UNLINK)
	})
	if errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("fs.inotify.max_user_watches is too low: %w", err)
	}
	if err = errors.Join(controlErr, err); err != nil {
		return descriptor.PathError("watch", dir, err)
	}
	to.add(int32(wd), name, i)
	return nil
}
