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
)

// A writable is a handle that also changes what it holds.
type writable struct {
	*handle
	// at is the directory in which it has the name base, held too: nil for a directory that
	// was opened to change what is in it.
	at   *handle
	base string
}

// Close implements [host.Handle].
func (n writable) Close() error {
	if n.at == nil {
		return n.handle.Close()
	}
	return errors.Join(n.handle.Close(), n.at.Close())
}

// Edit implements [host.WritableHandle].
func (n writable) Edit(name string) (host.WritableHandle, error) {
	at := path.Join(n.path, name)
	child, err := n.edit(name, at)
	if err != nil {
		return nil, n.childError("lookup", at, err)
	}
	return child, nil
}

// edit opens what has a name, and with it the directory that has the name.
func (n writable) edit(name, full string) (writable, error) {
	up, base := path.Split(name)
	if up == "" {
		up = "."
	}
	fd, err := below(n.fd, up, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return writable{}, err
	}
	dir, err := newHandle(n.h, fd, path.Dir(full))
	if err != nil {
		return writable{}, err
	}
	return dir.writable(base, base, full)
}

// writable opens what has a name. base is the name that it is going to have. It takes the
// directory over, also when it fails.
func (n *handle) writable(name, base, full string) (writable, error) {
	fd, err := below(n.fd, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return writable{}, errors.Join(err, n.Close())
	}
	child, err := newHandle(n.h, fd, full)
	if err != nil {
		return writable{}, errors.Join(err, n.Close())
	}
	return writable{child, n, base}, nil
}

// Chown implements [host.WritableHandle].
func (n writable) Chown(uid, gid int) error {
	return n.change("chown", func() error { return unix.Fchownat(n.fd, "", uid, gid, unix.AT_EMPTY_PATH) })
}

// Chmod implements [host.WritableHandle].
func (n writable) Chmod(mode uint32) error {
	return n.change("chmod", func() error {
		if n.info.IsSymlink() {
			return fmt.Errorf("is a symlink, which has no mode: %w", unix.EOPNOTSUPP)
		}
		return unix.Chmod(fdPath(n.fd), mode&0o7777)
	})
}

// SetXattr implements [host.WritableHandle].
func (n writable) SetXattr(name string, value []byte) error {
	return n.change("setxattr", func() error { return unix.Setxattr(fdPath(n.fd), name, value, 0) })
}

func (n writable) change(op string, act func() error) error {
	err := n.belongs()
	if err == nil {
		err = act()
	}
	return pathError(op, n.path, err)
}

// belongs is why a file may not be the one that it seems to be. A user could have made a
// hard link of any file in a directory that the user can write to, and removed it again by
// now, so that the file has one link, elsewhere. That it has one and that this is the one in
// the directory can't be asked in one call: while a name is removed the kernel counts one
// link less before the name is gone. So it is asked often, and each time after all that was
// going on in the directory has ended: a user would have to be in the middle of a removal,
// each time of another link.
func (n writable) belongs() error {
	if n.info.IsDir() || n.at == nil {
		return nil
	}
	dir, err := fstat(n.at.fd)
	if err != nil || onlyRootWrites(dir) {
		return err
	}
	const rounds = 32
	nothing := ".fettle-" + rand.Text()
	for i := 0; i < rounds && err == nil; i++ {
		// To remove a name, even one that is not there, waits for the directory's lock.
		_ = unix.Unlinkat(n.at.fd, nothing, 0)
		err = n.isOnlyLink()
	}
	return err
}

func (n writable) isOnlyLink() error {
	is, err := fstat(n.fd)
	if err != nil {
		return err
	}
	named, err := entry{dir: n.at.fd, base: n.base}.lstat()
	switch {
	case errors.Is(err, unix.ENOENT), err == nil && !named.SameFile(n.info):
		return host.ErrChanged
	case err == nil && (is.Nlink != 1 || named.Nlink != 1):
		return &host.HardLinkError{Path: n.path}
	}
	return err
}

// entry opens a name of a directory for a change.
func (n writable) entry(name string) (entry, error) {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return entry{}, errNoEntry
	}
	fd, err := unix.Openat(n.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return entry{}, err
	}
	return entry{h: n.h, dir: fd, base: name, path: path.Join(n.path, name)}, nil
}

// in opens a name for one act.
func (n writable) in(op, name string, act func(entry) error) error {
	e, err := n.entry(name)
	if err != nil {
		return pathError(op, path.Join(n.path, name), err)
	}
	defer e.close()
	return pathError(op, e.path, act(e))
}

// WriteFile implements [host.WritableHandle].
func (n writable) WriteFile(ctx context.Context, name string, f host.NewFile) (sum [sha256.Size]byte, err error) {
	err = n.in("write", name, func(e entry) (err error) {
		sum, err = e.write(ctx, f)
		return err
	})
	return sum, err
}

// Mkdir implements [host.WritableHandle].
func (n writable) Mkdir(name string, mode uint32) (made host.WritableHandle, err error) {
	err = n.in("mkdir", name, func(e entry) error {
		child, err := e.mkdir(mode)
		made = child
		return err
	})
	return orNil(made, err)
}

// Symlink implements [host.WritableHandle].
func (n writable) Symlink(text, name string) (made host.WritableHandle, err error) {
	err = n.in("symlink", name, func(e entry) error {
		child, err := e.symlink(text)
		made = child
		return err
	})
	return orNil(made, err)
}

func orNil(made host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	return made, nil
}

// Remove implements [host.WritableHandle].
func (n writable) Remove(name string, was *host.FileInfo) error {
	return n.in("remove", name, func(e entry) error {
		if was != nil {
			if err := e.still(*was); err != nil {
				return err
			}
		}
		return remove(e.dir, e.base)
	})
}

// RemoveAll implements [host.WritableHandle].
func (n writable) RemoveAll(name string) error {
	return n.in("remove", name, func(e entry) error { return removeAll(e.dir, e.base) })
}
