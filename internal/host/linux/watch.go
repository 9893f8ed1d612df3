package linux

import (
	"encoding/binary"
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
)

var _ host.Watcher = (*Host)(nil)

// watched are the events that count. Reading is none, and neither is every single write
// of a file that stays open: busy logs would wake us all the time.
const watched = unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// gone are the events of a directory that end what is known of all that is in it.
const gone = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT

// A watch is inotify on directories alone: a file that is replaced is another file with
// the same name. Its descriptors are opened as all others of the host, inside its root.
type watch struct {
	host  *Host
	file  *os.File
	raw   syscall.RawConn
	ready chan struct{} // of one

	mu        sync.Mutex
	interests map[int32][]interest // by watch descriptor
	changed   map[string]bool
}

// An interest is what of a directory's events a path is about.
type interest struct {
	name string // in the directory; "" is any
	path string // as it was asked for
}

// Watch implements [host.Watcher].
func (h *Host) Watch() (host.Watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot watch the host (is fs.inotify.max_user_instances too low?): %w", err)
	}
	w := &watch{
		host: h, file: os.NewFile(uintptr(fd), "inotify"), ready: make(chan struct{}, 1),
		interests: map[int32][]interest{}, changed: map[string]bool{},
	}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	go w.listen()
	return w, nil
}

// listen takes events as they come, until the watch is closed.
func (w *watch) listen() {
	for {
		if err := w.raw.Read(func(fd uintptr) bool { return w.drain(int(fd)) }); err != nil {
			return
		}
	}
}

// Ready implements [host.Watch].
func (w *watch) Ready() <-chan struct{} { return w.ready }

// Take implements [host.Watch].
func (w *watch) Take() []string {
	_ = w.raw.Control(func(fd uintptr) { w.drain(int(fd)) }) // of a closed one nothing is left to say
	w.mu.Lock()
	defer w.mu.Unlock()
	paths := slices.Sorted(maps.Keys(w.changed))
	clear(w.changed)
	return paths
}

// Close implements [host.Watch].
func (w *watch) Close() error { return w.file.Close() }

// drain takes all events that there are, and reports whether there were any.
func (w *watch) drain(fd int) (some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		some = true
		w.note(buf[:n])
	}
	if len(w.changed) > 0 {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
	return some
}

// note notes what a buffer of events is about.
func (w *watch) note(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:end]), "\x00")
		events = events[end:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0: // nobody knows what was lost
			for _, all := range w.interests {
				w.about(all, func(interest) bool { return true })
			}
		case mask&gone != 0:
			w.about(w.interests[wd], func(interest) bool { return true })
		case mask&unix.IN_IGNORED != 0:
			delete(w.interests, wd)
		case name != "":
			w.about(w.interests[wd], func(i interest) bool { return i.name == "" || i.name == name })
		}
	}
}

func (w *watch) about(all []interest, is func(interest) bool) {
	for _, i := range all {
		if is(i) {
			w.changed[i.path] = true
		}
	}
}

// Follow implements [host.Watch].
func (w *watch) Follow(paths []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := map[int32][]interest{}
	var errs []error
	for _, p := range paths {
		if err := w.follow(p, next); err != nil {
			errs = append(errs, err)
		}
	}
	for wd := range w.interests {
		if next[wd] == nil {
			_ = w.raw.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) }) // it may be gone already
		}
	}
	w.interests = next
	return errors.Join(errs...)
}

// follow adds what there is to watch for a path.
func (w *watch) follow(full string, to map[int32][]interest) error {
	clean := path.Clean(full)
	if strings.HasSuffix(full, "/") {
		if err := w.add(clean, interest{path: full}, to); err != nil && !isMissing(err) {
			return err
		}
	}
	for range maxRetries {
		missing, err := w.nearest(clean, full, to)
		if err != nil || missing == "" {
			return err
		}
		if _, err := w.host.stat(missing, 0); isMissing(err) {
			return nil
		} // else it came before the watch did
	}
	return pathError("watch", full, unix.EAGAIN)
}

// nearest watches the nearest directory above a path that there is, for what of the
// path would come into it: the path itself or, which it returns, a directory above it.
func (w *watch) nearest(clean, full string, to map[int32][]interest) (missing string, err error) {
	for child := clean; ; {
		dir, name := path.Split(child)
		err := w.add(dir, interest{name: name, path: full}, to)
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
func (w *watch) add(dir string, i interest, to map[int32][]interest) error {
	at, err := w.host.openat(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return pathError("watch", dir, err)
	}
	defer unix.Close(at)
	var wd int
	controlErr := w.raw.Control(func(fd uintptr) {
		wd, err = unix.InotifyAddWatch(int(fd), fdPath(at), watched|unix.IN_ONLYDIR|unix.IN_EXCL_UNLINK)
	})
	if errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("fs.inotify.max_user_watches is too low: %w", err)
	}
	if err = errors.Join(controlErr, err); err != nil {
		return pathError("watch", dir, err)
	}
	to[int32(wd)] = append(to[int32(wd)], i)
	return nil
}
