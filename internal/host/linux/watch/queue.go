package watch

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A queue is a descriptor from which events are read. The lock is held from reading events until they are recorded.
type queue struct {
	file *os.File
	raw  syscall.RawConn
	lock sync.Locker
	buf  []byte
}

func newQueue(fd int, name string, lock sync.Locker) (queue, error) {
	q := queue{file: os.NewFile(uintptr(fd), name), lock: lock, buf: make([]byte, maxRead)}
	var err error
	if q.raw, err = q.file.SyscallConn(); err != nil {
		return q, errors.Join(err, q.file.Close())
	}
	return q, nil
}

// batching is how long events are collected in a directory where others write a lot: a goroutine that reads events one by one
// costs more than their handling. An event that concerns a path may be reported that much later, and only there. Few
// events are read at once, since a process can be looked at only while it exists, and often prepares what it does
// to a path in another file of the directory.
//
// So are the events of a path that somebody changes all the time: the kernel merges them, and the watcher sleeps meanwhile. It sleeps at least
// nine tenths of the time: a user can change any number of paths, and the kernel drops what is too much.
const (
	batching  = 5 * time.Millisecond
	sleeping  = 9           // times what reading took
	batched   = 32          // reads in succession that concern no path
	contested = 128         // reads that concern paths
	calm      = time.Second // without such a read, the number of them begins again
)

// listen records events as they come, until the queue is closed. record reports whether events concern paths that had not changed.
func (q queue) listen(record func(events []byte) bool) {
	var p pace
	for {
		concerned, began := false, time.Time{}
		if err := q.raw.Read(func(fd uintptr) (some bool) {
			began = time.Now()
			some, concerned = q.read(int(fd), record)
			return some
		}); err != nil {
			return
		}
		if now := time.Now(); p.isBusy(now, concerned) {
			<-time.After(max(batching, sleeping*now.Sub(began)))
		}
	}
}

// A pace counts reads in succession.
type pace struct {
	unrelated, related int
	last, lastRelated  time.Time
}

// isBusy records a read, and reports whether to collect events before the next one.
func (p *pace) isBusy(now time.Time, concerned bool) bool {
	if now.Sub(p.lastRelated) > calm {
		p.related = 0
	}
	switch {
	case concerned:
		p.unrelated, p.related, p.lastRelated = 0, p.related+1, now
	case now.Sub(p.last) > 2*batching:
		p.unrelated = 0
	default:
		p.unrelated++
	}
	p.last = now
	return p.unrelated > batched || p.related > contested
}

// drain records all pending events.
func (q queue) drain(record func(events []byte) bool) {
	_ = q.raw.Control(func(fd uintptr) { q.read(int(fd), record) }) // fails only after Close, when there are no more events
}

const (
	// maxRead bounds the events of one read, since each of fanotify's opens a descriptor.
	maxRead = 8 << 10
	// maxReads is enough for all events that the kernel keeps. More may come as fast as they are read.
	maxReads = 256
)

// read reads the pending events, and reports whether there were any, and whether record returned true for some.
func (q queue) read(fd int, record func(events []byte) bool) (some, concerned bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for range maxReads {
		n, err := unix.Read(fd, q.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return some, concerned
		}
		some = true
		concerned = record(q.buf[:n]) || concerned
	}
	return some, concerned
}
