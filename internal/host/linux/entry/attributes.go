package entry

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/trust"
	"github.com/fettle-dev/fettle/internal/host/linux/xattr"
)

const setIDBits = 0o6000

// attributes are everything that a new file gets except its content.
type attributes struct {
	uid, gid int
	mode     uint32
	// exact gives the file exactly these extended attributes, and not the access list that
	// the directory gives to new files.
	exact    bool
	extended []xattr.Attribute
}

// A replaced file stays open until another has its place, so that it can't be mistaken for a file
// that is created meanwhile and gets its number.
type replaced struct {
	fd   int
	info host.FileInfo
}

func (r *replaced) close() {
	if r != nil {
		_ = unix.Close(r.fd)
	}
}

// attributes completes the attributes of f: from the file that is replaced, else with root and 0644. A
// directory in the way is an error.
func (e Entry) attributes(f host.NewFile) (*replaced, attributes, error) {
	a := attributes{mode: 0o644}
	old, err := e.open(f.Was)
	if err != nil {
		return nil, a, err
	}
	if old != nil && old.info.IsRegular() {
		a, err = e.inherit(*old, f)
	}
	a.override(f)
	if err == nil {
		err = e.restrict(&a, old)
	}
	if err != nil {
		old.close()
	}
	return old, a, err
}

// restrict drops access lists by which another user than the new owner would let others in: the
// former owner of the file, or the owner of the directory.
func (e Entry) restrict(a *attributes, old *replaced) error {
	dir, err := descriptor.Stat(e.Dir)
	if err != nil {
		return err
	}
	a.exact = a.exact || !trust.IsRoot(dir.UID) && dir.UID != a.uid
	if old != nil && !trust.IsRoot(old.info.UID) && old.info.UID != a.uid {
		a.extended = slices.DeleteFunc(a.extended, func(x xattr.Attribute) bool { return x.Name == xattr.AccessACL })
	}
	return nil
}

// open opens the file with the entry's name, nil if there is none.
func (e Entry) open(was *host.FileInfo) (*replaced, error) {
	fd, err := descriptor.OpenName(e.Dir, e.Base, unix.O_PATH)
	if errors.Is(err, unix.ENOENT) {
		if was != nil && was.Ino != 0 {
			return nil, host.ErrChanged
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := descriptor.Stat(fd)
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

// inherit takes the attributes of the regular file that is replaced, except set-ID bits that
// others could have set or that were meant for another owner.
func (e Entry) inherit(old replaced, f host.NewFile) (attributes, error) {
	a := attributes{uid: old.info.UID, gid: old.info.GID, mode: old.info.Mode, exact: true}
	var err error
	if a.extended, err = xattr.Lasting(old.fd); err != nil || f.Mode != nil || a.mode&setIDBits == 0 {
		return a, err
	}
	trusted, err := trust.OnlyRootWritesPath(e.all.root, e.Dir)
	if !trusted || old.info.Nlink != 1 || f.UID != -1 && f.UID != a.uid || f.GID != -1 && f.GID != a.gid {
		a.mode &^= setIDBits
	}
	return a, err
}

// override sets the attributes that f has.
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
