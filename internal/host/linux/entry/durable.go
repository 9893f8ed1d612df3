package entry

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// durable makes the names in directories durable. One fsync covers all changes from before it began,
// so concurrent writers to a directory share it. The zero value is ready. It is safe for
// concurrent use.
type durable struct {
	mu   sync.Mutex
	dirs map[descriptor.ID]*syncing
}

// syncing is the running fsync of a directory and the next one: a change while one runs
// needs the next.
type syncing struct{ running, next *fsync }

type fsync struct {
	done chan struct{}
	err  error
}

// sync makes the names in an open directory durable. File systems that cannot sync directories are
// no error.
func (d *durable) sync(dir int) error {
	info, err := descriptor.Stat(dir)
	if err != nil {
		return err
	}
	id := descriptor.IDOf(info)
	f, before, mine := d.join(id)
	if !mine {
		<-f.done
		return f.err
	}
	if before != nil {
		<-before.done
	}
	d.begin(id, f)
	f.err = descriptor.Ignore(unix.Fsync(dir), unix.EINVAL, unix.ENOTSUP)
	d.end(id, f)
	return f.err
}

// join returns the fsync to wait for, the one that runs before it, and whether the caller has to
// run it.
func (d *durable) join(id descriptor.ID) (f, before *fsync, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs == nil {
		d.dirs = map[descriptor.ID]*syncing{}
	}
	s := d.dirs[id]
	if s == nil {
		s = &syncing{}
		d.dirs[id] = s
	}
	if s.next == nil {
		s.next, mine = &fsync{done: make(chan struct{})}, true
	}
	return s.next, s.running, mine
}

// begin closes an fsync to later callers.
func (d *durable) begin(id descriptor.ID, f *fsync) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.dirs[id]
	s.running, s.next = f, nil
}

func (d *durable) end(id descriptor.ID, f *fsync) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.dirs[id]
	s.running = nil
	if s.next == nil {
		delete(d.dirs, id)
	}
	close(f.done)
}
