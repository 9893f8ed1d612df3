package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// watchedEvents leave out reads, and single writes to a file that stays open: a busy log would
// wake us all the time.
const watchedEvents = unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// goneEvents are those of a directory after which nothing is known about its contents.
const goneEvents = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT

// batching is how long events are collected after some that concerned no path: in a directory with many other files, a
// goroutine that reads them one by one costs more than their handling. An event that concerns a path may be reported that
// much later, and only there.
const batching = 5 * time.Millisecond

// readEvents reads events until the watch is closed.
func (w *Watch) readEvents() {
	for {
		concerned := false
		if err := w.raw.Read(func(fd uintptr) (some bool) {
			some, concerned = w.drain(int(fd))
			return some
		}); err != nil {
			return
		}
		if !concerned {
			time.Sleep(batching)
		}
	}
}

// drain reads all pending events, and reports whether there were any, and whether they concern paths that had not changed.
func (w *Watch) drain(fd int) (some, concerned bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.changed)
	for {
		n, err := unix.Read(fd, w.buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		some = true
		w.record(w.buffer[:n])
	}
	if len(w.changed) > 0 {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
	return some, len(w.changed) > before
}

// record marks the paths that a buffer of events concerns.
func (w *Watch) record(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:end], []byte{0})
		events = events[end:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0: // lost events may concern any path
			w.stale = true
			for _, d := range w.interests {
				w.markAll(d)
			}
		case mask&goneEvents != 0:
			w.stale = true
			w.markAll(w.interests[wd])
		case mask&unix.IN_IGNORED != 0:
			w.stale = w.stale || w.interests[wd] != nil
			delete(w.interests, wd)
		case len(name) > 0:
			w.markName(w.interests[wd], name)
		}
	}
}

func (w *Watch) markAll(d *interests) {
	if d == nil {
		return
	}
	w.mark(d.any)
	for _, all := range d.byName {
		w.mark(all)
	}
}

// markName allocates nothing if no path is concerned.
func (w *Watch) markName(d *interests, name []byte) {
	if d == nil {
		return
	}
	w.mark(d.any)
	w.mark(d.byName[string(name)])
}

func (w *Watch) mark(all []interest) {
	for _, i := range all {
		w.changed[i.path] = true
		w.stale = w.stale || i.moves
	}
}
