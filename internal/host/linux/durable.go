package linux

import (
	"sync"

	"golang.org/x/sys/unix"
)

// durable makes names in directories durable. One fsync is good for all whose change came
// before it began, so those who wait for the same directory wait together. The zero value
// is ready to use, by many at once.
type durable struct {
	mu   sync.Mutex
	dirs map[fileID]*syncing
}

// syncing is a directory's fsync that runs, and the one that comes after it: what changes
// while one runs needs the next.
type syncing struct{ running, next *fsync }

type fsync struct {
	done chan struct{}
	err  error
}

// sync makes what has a name in an open directory durable. Some file systems cannot, and
// say so.
func (d *durable) sync(dir int) error {
	info, err := fstat(dir)
	if err != nil {
		return err
	}
	id := fileID{info.Dev, info.Ino}
	f, before, mine := d.join(id)
	if !mine {
		<-f.done
		return f.err
	}
	if before != nil {
		<-before.done
	}
	d.begin(id, f)
	f.err = ignore(unix.Fsync(dir), unix.EINVAL, unix.ENOTSUP)
	d.end(id, f)
	return f.err
}

// join is the fsync to wait for, and whether it is the caller's to run: once the one
// before it is done, if there is one.
func (d *durable) join(id fileID) (f, before *fsync, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs == nil {
		d.dirs = map[fileID]*syncing{}
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

// begin lets nobody join any more.
func (d *durable) begin(id fileID, f *fsync) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.dirs[id]
	s.running, s.next = f, nil
}

func (d *durable) end(id fileID, f *fsync) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.dirs[id]
	s.running = nil
	if s.next == nil {
		delete(d.dirs, id)
	}
	close(f.done)
}
