package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// A tracer reports events of directories by fanotify, with the processes that cause them.
type tracer struct {
	queue

	dirs map[string]int32 // inotify's watch descriptors of the directories, by handle
}

// tracedEvents are the watchedEvents, but for the end of the directory itself, which inotify reports better: also when
// its filesystem is unmounted.
const tracedEvents = unix.FAN_ATTRIB | unix.FAN_CLOSE_WRITE | unix.FAN_CREATE | unix.FAN_DELETE | unix.FAN_MOVED_FROM |
	unix.FAN_MOVED_TO | unix.FAN_EVENT_ON_CHILD | unix.FAN_ONDIR

// newTracer returns nil where the kernel or our rights don't suffice: it needs Linux 5.15 and CAP_SYS_ADMIN.
func newTracer(lock sync.Locker) *tracer {
	const flags = unix.FAN_CLASS_NOTIF | unix.FAN_REPORT_DFID_NAME | unix.FAN_REPORT_PIDFD | unix.FAN_CLOEXEC | unix.FAN_NONBLOCK
	fd, err := unix.FanotifyInit(flags, 0)
	if err != nil {
		return nil
	}
	q, err := newQueue(fd, "fanotify", lock)
	if err != nil {
		return nil
	}
	return &tracer{q, map[string]int32{}}
}

// close does nothing for the nil tracer.
func (t *tracer) close() error {
	if t == nil {
		return nil
	}
	return t.file.Close()
}

// errUntraceable means that fanotify is not available.
var errUntraceable = errors.New("cannot trace the directory")

// mark traces a directory, and returns its handle.
func (t *tracer) mark(at int) (handle string, err error) {
	if t == nil {
		return "", errUntraceable
	}
	if handle, err = handleOf(at); err != nil {
		return "", err
	}
	controlErr := t.raw.Control(func(fd uintptr) {
		err = unix.FanotifyMark(int(fd), unix.FAN_MARK_ADD|unix.FAN_MARK_ONLYDIR, tracedEvents, unix.AT_FDCWD, descriptor.Path(at))
	})
	return handle, errors.Join(controlErr, err)
}

// atHandleFID asks for a handle that only identifies a file, as the events have it, since Linux 6.5.
const atHandleFID = 0x200

// handleOf identifies a directory as events do: by its filesystem, and by the length, the type and the bytes of its handle.
func handleOf(at int) (string, error) {
	handle, _, err := unix.NameToHandleAt(at, "", unix.AT_EMPTY_PATH|atHandleFID)
	if errors.Is(err, unix.EINVAL) {
		handle, _, err = unix.NameToHandleAt(at, "", unix.AT_EMPTY_PATH)
	}
	if err != nil {
		return "", err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(at, &fs); err != nil {
		return "", err
	}
	var id []byte
	for _, v := range []uint32{uint32(fs.Fsid.Val[0]), uint32(fs.Fsid.Val[1]), uint32(handle.Size()), uint32(handle.Type())} {
		id = binary.NativeEndian.AppendUint32(id, v)
	}
	return string(id) + string(handle.Bytes()), nil
}

// A tracedEvent is one that fanotify reports.
type tracedEvent struct {
	mask         uint64
	pid          int64
	pidfd        int    // negative if the process is gone
	handle, name []byte // of the directory, and in it; nil for an overflow
}

// Lengths and offsets of the records of an event, which begin with type, padding and length.
const (
	metadataSize   = int(unsafe.Sizeof(unix.FanotifyEventMetadata{}))
	recordHeader   = 4
	fsidSize       = 8
	handleHeader   = 8 // the length of the handle, and its type
	handleRecord   = recordHeader + fsidSize + handleHeader
	pidfdRecord    = recordHeader + 4
	offsetMask     = 8
	offsetPID      = 20
	offsetMetadata = 6
)

// nextEvent parses the first event, and returns the others. ok is false if there is none.
func nextEvent(events []byte) (e tracedEvent, rest []byte, ok bool) {
	if len(events) < metadataSize {
		return e, nil, false
	}
	size, start := int(binary.NativeEndian.Uint32(events)), int(binary.NativeEndian.Uint16(events[offsetMetadata:]))
	if size > len(events) || start > size || start < metadataSize {
		return e, nil, false
	}
	e = tracedEvent{mask: binary.NativeEndian.Uint64(events[offsetMask:]), pid: int64(int32(binary.NativeEndian.Uint32(events[offsetPID:]))), pidfd: -1}
	for records := events[start:size]; len(records) >= recordHeader; {
		n := int(binary.NativeEndian.Uint16(records[2:]))
		if n < recordHeader || n > len(records) {
			break
		}
		e.add(records[0], records[:n])
		records = records[n:]
	}
	return e, events[size:], true
}

// add adds what a record says.
func (e *tracedEvent) add(kind byte, record []byte) {
	switch {
	case kind == unix.FAN_EVENT_INFO_TYPE_PIDFD && len(record) >= pidfdRecord:
		e.pidfd = int(int32(binary.NativeEndian.Uint32(record[recordHeader:])))
	case kind == unix.FAN_EVENT_INFO_TYPE_DFID_NAME && len(record) >= handleRecord:
		end := handleRecord + int(binary.NativeEndian.Uint32(record[recordHeader+fsidSize:]))
		if end > len(record) {
			return
		}
		e.handle = record[recordHeader:end]
		e.name, _, _ = bytes.Cut(record[end:], []byte{0})
	}
}
