package linux

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// An entry is a name in an open directory: what is changed is this, whatever
// happens to the path meanwhile.
type entry struct {
	h    *Host
	dir  int // of the directory, readable so that it can be synced
	base string
	path string
}

var errNoEntry = errors.New("path does not end in a name that can be changed")

// entry opens the directory that holds a path. Symlinks up to there are followed if root
// put them there: whoever changes something by its path does not mean it to be elsewhere.
func (h *Host) entry(full string) (entry, error) {
	trimmed := trimSlashes(full)
	parent, base := path.Split(trimmed)
	if base == "" || base == "." || base == ".." {
		return entry{}, errNoEntry
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY
	fd, err := h.inRoot(parent, flags, h.follow)
	if links := (host.Links{Follow: h.follow}); err != nil && decides(err, links) {
		fd, err = h.walkAndOpen(trimmed, links, flags)
	}
	switch {
	case errors.Is(err, unix.ELOOP):
		return entry{}, &host.LinkError{Path: trimmed}
	case err != nil:
		return entry{}, err
	}
	return entry{h: h, dir: fd, base: base, path: trimmed}, nil
}

func (h *Host) walkAndOpen(name string, links host.Links, flags int) (int, error) {
	dir, _, err := h.walkTo(name, links)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Openat(dir.fd, ".", flags|unix.O_CLOEXEC, 0)
	return fd, errors.Join(err, dir.Close())
}

func (e entry) close() { _ = unix.Close(e.dir) }

// lstat describes what has the name; unix.ENOENT when nothing has.
func (e entry) lstat() (host.FileInfo, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(e.dir, e.base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return host.FileInfo{}, err
	}
	return fileInfo(&st), nil
}

// commit gives the entry's name to what has a temporary one.
func (e entry) commit(temp string) error {
	if err := notMounted(e.dir, e.base); err != nil {
		return err
	}
	return unix.Renameat(e.dir, temp, e.dir, e.base)
}

// still is an error unless the name is that of something that nothing was changed of, or
// for the zero value of nothing.
func (e entry) still(was host.FileInfo) error {
	is, err := e.lstat()
	switch {
	case errors.Is(err, unix.ENOENT):
		is, err = host.FileInfo{}, nil
	case err != nil:
		return err
	}
	if !is.Unchanged(was) {
		return host.ErrChanged
	}
	return nil
}

// discard removes what has a temporary name, if anything has.
func (e entry) discard(temp string) error {
	return ignore(unix.Unlinkat(e.dir, temp, 0), unix.ENOENT)
}

// notMounted is an error when something is mounted on a name. The kernel itself
// only cares for mounts in the namespace of who asks: it would let us remove or
// replace one of another host's, and silently unmount what is there.
func notMounted(dir int, name string) error {
	mounted, err := isMounted(dir, name)
	if mounted {
		return fmt.Errorf("%s is a mount point: unmount it first: %w", name, unix.EBUSY)
	}
	return err
}

func isMounted(dir int, name string) (bool, error) {
	return mountRoot(dir, name, unix.AT_SYMLINK_NOFOLLOW)
}

func mountRoot(dir int, name string, flags int) (bool, error) {
	var stx unix.Statx_t
	err := unix.Statx(dir, name, flags|unix.AT_NO_AUTOMOUNT, 0, &stx)
	return err == nil && stx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, ignore(err, unix.ENOENT)
}

// Mounted implements [host.Reader].
func (h *Host) Mounted(path string) (bool, error) {
	if trimSlashes(path) == "/" {
		return true, nil
	}
	e, err := h.entry(path)
	if err != nil {
		return false, pathError("look for mount", path, ignore(err, unix.ENOENT, unix.ENOTDIR))
	}
	defer e.close()
	mounted, err := isMounted(e.dir, e.base)
	return mounted, pathError("look for mount", path, err)
}

// ignore is err unless it is one of these.
func ignore(err error, these ...unix.Errno) error {
	for _, this := range these {
		if errors.Is(err, this) {
			return nil
		}
	}
	return err
}
