package watch

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/author"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// watchedEvents leave out reads, and single writes to a file that stays open: a busy log would
// wake us all the time.
const watchedEvents = unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// goneEvents are the events of a directory after which nothing is known about its contents.
const goneEvents = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_UNMOUNT

// record marks the paths that a buffer of inotify's events concerns, and reports whether one of them had not changed.
func (w *Watch) record(events []byte) bool {
	before := len(w.changed)
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name, _, _ := bytes.Cut(events[unix.SizeofInotifyEvent:end], []byte{0})
		events = events[end:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			w.lost()
		case mask&goneEvents != 0:
			w.stale = true
			w.markAll(w.interests[wd])
		case mask&unix.IN_IGNORED != 0:
			w.stale = w.stale || w.interests[wd] != nil
			delete(w.interests, wd)
		case len(name) > 0:
			w.markName(w.interests[wd], name, isBegin(uint64(mask)))
		}
	}
	w.remind()
	return len(w.changed) > before
}

// recordTraced is record for events of a tracer. It finds out the authors of those that concern paths.
func (w *Watch) recordTraced(t *tracer, events []byte) bool {
	before, authors := len(w.changed), map[int64]*host.Author{}
	for e, rest, ok := nextEvent(events); ok; e, rest, ok = nextEvent(rest) {
		if e.mask&unix.FAN_Q_OVERFLOW != 0 {
			w.lost()
		} else if d := w.interests[t.dirs[string(e.handle)]]; d != nil {
			w.attribute(d, e, authors)
			w.markName(d, e.name, isBegin(e.mask))
		}
		if e.pidfd >= 0 {
			_ = unix.Close(e.pidfd)
		}
	}
	w.remind()
	return len(w.changed) > before
}

// attribute finds out the author of an event, unless it concerns no path. It looks only once at a process that changes the same
// again and again, or several paths at once, which known has by its number. What is not known about an event doesn't replace what is
// known about an earlier one.
func (w *Watch) attribute(d *interests, e tracedEvent, known map[int64]*host.Author) {
	for _, all := range [][]interest{d.any, d.byName[string(e.name)]} {
		for _, i := range all {
			if last := w.authors[i.path]; last != nil && last.PID == e.pid {
				return
			}
			by, ok := known[e.pid]
			if !ok {
				by = w.authorOf(e)
				known[e.pid] = by
			}
			if by == nil {
				return
			}
			w.authors[i.path] = by
		}
	}
}

func (w *Watch) authorOf(e tracedEvent) *host.Author {
	by := author.Of(e.pid, e.pidfd)
	if by != nil && by.Pod != "" {
		by.Pod = author.PodName(by.Pod, w.podLogs())
	}
	return by
}

// podLogs returns the names of the directories in which kubelet has the logs of pods.
func (w *Watch) podLogs() []string {
	const dir = "/var/log/pods"
	fd, err := w.root.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	names, _ := descriptor.Names(fd, dir) // the UID has to do
	return names
}

// lost is called after events were lost, which may concern any path.
func (w *Watch) lost() {
	w.stale = true
	for _, d := range w.interests {
		w.markAll(d)
	}
}

func (w *Watch) markAll(d *interests) {
	if d == nil {
		return
	}
	w.mark(d.any, false)
	for _, all := range d.byName {
		w.mark(all, false)
	}
}

// markName allocates nothing if no path is concerned.
func (w *Watch) markName(d *interests, name []byte, begun bool) {
	if d == nil || len(name) == 0 {
		return
	}
	w.mark(d.any, begun)
	w.mark(d.byName[string(name)], begun)
}

// isBegin reports whether an event is about a file that was created and not closed yet. fanotify reports several events as one, and has
// inotify's bits.
func isBegin(mask uint64) bool {
	return mask&unix.FAN_CREATE != 0 && mask&(unix.FAN_CLOSE_WRITE|unix.FAN_MOVED_TO|unix.FAN_ONDIR) == 0
}

func (w *Watch) mark(all []interest, begun bool) {
	for _, i := range all {
		w.changed[i.path] = begun
		w.stale = w.stale || i.moves
	}
}

func (w *Watch) remind() {
	if len(w.changed) == 0 {
		return
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}
