package linux

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

const setIDBits = 0o6000

// attributes are what a new file gets besides its content.
type attributes struct {
	uid, gid int
	mode     uint32
	// exact says that the extended attributes are those that are kept, and none that the
	// directory gives to new files.
	exact bool
	kept  []extended
}

// A replaced file is held until another has its place, so that it can't be mistaken for one
// that is made meanwhile.
type replaced struct {
	fd   int
	info host.FileInfo
}

func (r *replaced) release() {
	if r != nil {
		_ = unix.Close(r.fd)
	}
}

// attributes settles what f leaves open: the file that is replaced decides, else
// root and 0644. A directory in the way is an error.
func (e entry) attributes(f host.NewFile) (*replaced, attributes, error) {
	a := attributes{mode: 0o644}
	old, err := e.hold(f.Was)
	if err != nil {
		return nil, a, err
	}
	if old != nil && old.info.IsRegular() {
		a, err = e.inherited(*old, f)
	}
	a.override(f)
	if err == nil {
		err = e.exclude(&a, old)
	}
	if err != nil {
		old.release()
	}
	return old, a, err
}

// exclude leaves out whom another user than the owner would let in: the former owner of the
// file, or the owner of the directory.
func (e entry) exclude(a *attributes, old *replaced) error {
	above, err := fstat(e.dir)
	if err != nil {
		return err
	}
	a.exact = a.exact || !isRoot(above.UID) && above.UID != a.uid
	if old != nil && !isRoot(old.info.UID) && old.info.UID != a.uid {
		a.kept = slices.DeleteFunc(a.kept, func(x extended) bool { return x.name == accessACL })
	}
	return nil
}

// hold opens what has the name, nil where nothing has.
func (e entry) hold(was *host.FileInfo) (*replaced, error) {
	fd, err := unix.Openat(e.dir, e.base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		if was != nil && was.Ino != 0 {
			return nil, host.ErrChanged
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := fstat(fd)
	switch {
	case err != nil:
	case was != nil && !info.Unchanged(*was):
		err = host.ErrChanged
	case info.IsDir():
		err = unix.EISDIR
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &replaced{fd, info}, nil
}

// inherited is all that a regular file leaves to the one that replaces it. It leaves no
// set-ID bits that others could have set, or meant for another owner.
func (e entry) inherited(old replaced, f host.NewFile) (attributes, error) {
	a := attributes{uid: old.info.UID, gid: old.info.GID, mode: old.info.Mode, exact: true}
	var err error
	if a.kept, err = lasting(old.fd); err != nil || f.Mode != nil || a.mode&setIDBits == 0 {
		return a, err
	}
	kept, err := e.h.onlyRootWrites(e.dir)
	if !kept || old.info.Nlink != 1 || f.UID != -1 && f.UID != a.uid || f.GID != -1 && f.GID != a.gid {
		a.mode &^= setIDBits
	}
	return a, err
}

// override is by what f says.
func (a *attributes) override(f host.NewFile) {
	if f.UID != -1 {
		a.uid = f.UID
	}
	if f.GID != -1 {
		a.gid = f.GID
	}
	if f.Mode != nil {
		a.mode = *f.Mode
	}
}
