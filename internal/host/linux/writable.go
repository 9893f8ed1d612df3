package linux

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/entry"
	"github.com/fettle-dev/fettle/internal/host/linux/resolve"
	"github.com/fettle-dev/fettle/internal/host/linux/trust"
	"github.com/fettle-dev/fettle/internal/host/linux/xattr"
)

// A writable implements [host.WritableHandle].
type writable struct {
	*handle
	// dir is the directory in which the file has the name base. It is open too, and nil for a
	// directory that was opened to change its contents.
	dir  *descriptor.File
	base string
}

// Close implements [host.Handle].
func (n writable) Close() error {
	if n.dir == nil {
		return n.handle.Close()
	}
	return errors.Join(n.handle.Close(), n.dir.Close())
}

// Edit implements [host.WritableHandle].
func (n writable) Edit(name string) (host.WritableHandle, error) {
	full := path.Join(n.f.Path, name)
	child, err := n.h.edit(n.f, name, full)
	if err != nil {
		return nil, descriptor.LookupError(full, err)
	}
	return child, nil
}

// edit opens a file below a directory by its relative path, together with the directory that has its name.
func (h *Host) edit(top *descriptor.File, name, full string) (writable, error) {
	up, base := path.Split(name)
	if up == "" {
		up = "."
	}
	fd, err := h.root.OpenBeneath(top.FD, up, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return writable{}, err
	}
	dir, err := descriptor.NewFile(fd, path.Dir(full))
	if err != nil {
		return writable{}, err
	}
	child, err := h.root.Beneath(dir, base, full)
	if err != nil {
		return writable{}, errors.Join(err, dir.Close())
	}
	return writable{&handle{h, child}, dir, base}, nil
}

// Chown implements [host.WritableHandle].
func (n writable) Chown(uid, gid int) error {
	was := n.f.Info
	takes := uid != -1 && uid != was.UID && !trust.IsRoot(was.UID)
	if takes && was.IsSymlink() {
		return &host.ForeignLinkError{Path: n.f.Path, UID: was.UID}
	}
	becomes := func(is host.FileInfo) host.FileInfo {
		if uid != -1 {
			is.UID, is.Mode = uid, 0 // the mode may change with the access list
		}
		return is
	}
	return n.change("chown", becomes, func() error {
		err := unix.Fchownat(n.f.FD, "", uid, gid, unix.AT_EMPTY_PATH)
		if err == nil && takes {
			err = xattr.RemoveLists(n.f.FD) // after the change: until then, its owner could set them again
		}
		return err
	})
}

// Chmod implements [host.WritableHandle].
func (n writable) Chmod(mode uint32) error {
	becomes := func(is host.FileInfo) host.FileInfo {
		is.Mode = mode
		return is
	}
	return n.change("chmod", becomes, func() error {
		if n.f.Info.IsSymlink() {
			return fmt.Errorf("is a symlink, which has no mode: %w", unix.EOPNOTSUPP)
		}
		return unix.Chmod(descriptor.Path(n.f.FD), mode&0o7777)
	})
}

// SetXattr implements [host.WritableHandle].
func (n writable) SetXattr(name string, value []byte) error {
	return n.change("setxattr", nil, func() error { return unix.Setxattr(descriptor.Path(n.f.FD), name, value, 0) })
}

// change makes a change of metadata. becomes returns what the file is like afterwards; nil if its owner and mode stay.
func (n writable) change(op string, becomes func(host.FileInfo) host.FileInfo, act func() error) error {
	err := n.requireOnlyLink()
	if err == nil && becomes != nil {
		err = n.markTaken(becomes)
	}
	if err == nil {
		err = act()
	}
	return n.error(op, err)
}

// markTaken marks a directory that others could write to before only root can.
func (n writable) markTaken(becomes func(host.FileInfo) host.FileInfo) error {
	is, err := descriptor.Stat(n.f.FD)
	if err != nil || !is.IsDir() || trust.OnlyRootWrites(is) || !trust.OnlyRootWrites(becomes(is)) {
		return err
	}
	return trust.MarkTaken(n.f.FD)
}

// requireOnlyLink returns an error if the file may belong to another path. In a directory that
// users can write to, one of them could have made a hard link of any file and removed it again by
// now, so that the file has one link, elsewhere. No single call says both that a file has one link and
// that this is it: while the kernel removes a name, it decrements the link count before the name
// disappears. So we check repeatedly, each time after all pending operations in the directory are done: to
// succeed, a user would have to be in the middle of removing another link every time.
func (n writable) requireOnlyLink() error {
	if n.f.Info.IsDir() || n.dir == nil {
		return nil
	}
	if only, err := trust.OnlyRootWrote(n.dir.FD); err != nil || only {
		return err
	}
	const rounds = 32
	nothing := ".fettle-" + rand.Text()
	for range rounds {
		// Removing a name waits for the directory's lock, even if the name does not exist.
		_ = unix.Unlinkat(n.dir.FD, nothing, 0)
		if err := n.checkOnlyLink(); err != nil {
			return err
		}
	}
	return nil
}

func (n writable) checkOnlyLink() error {
	is, err := descriptor.Stat(n.f.FD)
	if err != nil {
		return err
	}
	named, err := descriptor.Lstat(n.dir.FD, n.base)
	switch {
	case errors.Is(err, unix.ENOENT), err == nil && !named.SameFile(n.f.Info):
		return host.ErrChanged
	case err == nil && (is.Nlink != 1 || named.Nlink != 1):
		return &host.HardLinkError{Path: n.f.Path}
	}
	return err
}

// in opens a name of this directory for one change.
func (n writable) in(op, name string, act func(entry.Entry) error) error {
	full := path.Join(n.f.Path, name)
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return descriptor.PathError(op, full, resolve.ErrNoEntry)
	}
	fd, err := descriptor.Reopen(n.f.FD, unix.O_RDONLY)
	if err != nil {
		return descriptor.PathError(op, full, err)
	}
	e := n.h.entries.New(fd, name, full)
	defer e.Close()
	return descriptor.PathError(op, full, act(e))
}

// WriteFile implements [host.WritableHandle].
func (n writable) WriteFile(ctx context.Context, name string, f host.NewFile) (sum [sha256.Size]byte, err error) {
	err = n.in("write", name, func(e entry.Entry) (err error) {
		sum, err = n.h.write(ctx, e, f)
		return err
	})
	return sum, err
}

// Mkdir implements [host.WritableHandle].
func (n writable) Mkdir(name string, mode uint32) (host.WritableHandle, error) {
	return n.make("mkdir", name, func(e entry.Entry) (*descriptor.File, error) { return e.Mkdir(mode) })
}

// Symlink implements [host.WritableHandle].
func (n writable) Symlink(text, name string) (host.WritableHandle, error) {
	return n.make("symlink", name, func(e entry.Entry) (*descriptor.File, error) { return e.Symlink(text) })
}

// make makes a file and returns it together with this directory.
func (n writable) make(op, name string, act func(entry.Entry) (*descriptor.File, error)) (made host.WritableHandle, err error) {
	err = n.in(op, name, func(e entry.Entry) error {
		f, err := act(e)
		if err != nil {
			return err
		}
		fd, err := descriptor.Reopen(e.Dir, unix.O_PATH)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		dir, err := descriptor.NewFile(fd, n.f.Path)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		made = writable{&handle{n.h, f}, dir, name}
		return nil
	})
	return made, err
}

// Remove implements [host.WritableHandle].
func (n writable) Remove(name string, was *host.FileInfo) error {
	return n.in("remove", name, func(e entry.Entry) error { return e.Remove(was) })
}

// RemoveAll implements [host.WritableHandle].
func (n writable) RemoveAll(name string) error { return n.in("remove", name, entry.Entry.RemoveAll) }
