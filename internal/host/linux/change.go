package linux

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// Mkdir implements [host.Host]. The umask plays no part.
func (h *Host) Mkdir(path string, mode uint32) error {
	return h.make("mkdir", path, func(e entry) (writable, error) { return e.mkdir(mode) })
}

// Symlink implements [host.Host].
func (h *Host) Symlink(text, path string) error {
	return h.make("symlink", path, func(e entry) (writable, error) { return e.symlink(text) })
}

// make opens the entry of a path to make something there.
func (h *Host) make(op, name string, act func(entry) (writable, error)) error {
	e, err := h.entry(name)
	if err != nil {
		return pathError(op, name, err)
	}
	defer e.close()
	made, err := act(e)
	if err == nil {
		err = made.Close()
	}
	return pathError(op, name, err)
}

// writable opens what a name in the entry's directory is, to become what the entry is.
func (e entry) writable(name string) (writable, error) {
	fd, err := unix.Openat(e.dir, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return writable{}, err
	}
	dir, err := newHandle(e.h, fd, path.Dir(e.path))
	if err != nil {
		return writable{}, err
	}
	return dir.writable(name, e.base, e.path)
}

// mkdir makes the directory private and opens it up only when it has its mode.
func (e entry) mkdir(mode uint32) (writable, error) {
	if err := unix.Mkdirat(e.dir, e.base, 0o700); err != nil {
		return writable{}, err
	}
	n, err := e.writable(e.base)
	if err != nil {
		return writable{}, err
	}
	if !isNew(n) {
		return writable{}, errors.Join(host.ErrChanged, n.Close())
	}
	if err := e.open(n, mode); err != nil {
		return writable{}, errors.Join(err, n.Close())
	}
	n.info.Mode = mode & 0o7777
	return n, nil
}

// isNew reports whether a directory is one that was just made, or as good as that: whoever
// can write above could have put another in its place.
func isNew(dir writable) bool {
	if !dir.info.IsDir() || dir.info.Mode&0o077 != 0 || dir.info.UID != actor() {
		return false
	}
	names, err := dir.ReadDir()
	return err == nil && len(names) == 0
}

// open lets others into a new directory: as its mode says, and nobody else whom the owner of
// the directory above would let in.
func (e entry) open(n writable, mode uint32) error {
	above, err := fstat(e.dir)
	if err != nil {
		return err
	}
	if !isRoot(above.UID) && above.UID != n.info.UID {
		for _, list := range []string{accessACL, defaultACL} {
			if err := unix.Removexattr(fdPath(n.fd), list); ignore(err, unix.ENODATA, unix.ENOTSUP) != nil {
				return err
			}
		}
	}
	return unix.Chmod(fdPath(n.fd), mode&0o7777)
}

func (e entry) symlink(text string) (writable, error) {
	if info, err := e.lstat(); err == nil && info.IsDir() {
		return writable{}, unix.EISDIR
	}
	temp := tempName()
	if err := unix.Symlinkat(text, e.dir, temp); err != nil {
		return writable{}, err
	}
	n, err := e.writable(temp)
	if err != nil {
		return writable{}, err
	}
	if got, err := readlink(n.fd); err != nil || got != text || n.info.UID != actor() {
		return writable{}, errors.Join(err, host.ErrChanged, n.Close())
	}
	if err := e.commit(temp); err != nil {
		return writable{}, errors.Join(err, e.discard(temp), n.Close())
	}
	return n, nil
}
