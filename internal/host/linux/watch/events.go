package watch

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// watchedEvents leave out reads, and single writes to a file that stays open: a busy log would
// wake us all the time.
const watchedEvents = unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// goneEvents are those of a directory after which nothing is known about its contents.
const goneEvents = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT

// drain reads all pending events, and reports whether there were any.
func (w *Watch) drain(fd int) (some bool) {
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
		w.record(buf[:n])
	}
	if len(w.changed) > 0 {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
	return some
}

// record marks the paths that a buffer of events concerns.
func (w *Watch) record(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:end]), "\x00")
		events = events[end:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0: // lost events may concern any path
			for _, all := range w.interests {
				w.mark(all, func(interest) bool { return true })
			}
		case mask&goneEvents != 0:
			w.mark(w.interests[wd], func(interest) bool { return true })
		case mask&unix.IN_IGNORED != 0:
			delete(w.interests, wd)
		case name != "":
			w.mark(w.interests[wd], func(i interest) bool { return i.name == "" || i.name == name })
		}
	}
}

func (w *Watch) mark(all []interest, concerned func(interest) bool) {
	for _, i := range all {
		if concerned(i) {
			w.changed[i.path] = true
		}
	}
}
