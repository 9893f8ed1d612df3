package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Remove implements [host.Host].
func (h *Host) Remove(path string) error {
	return h.remove(path, remove)
}

// RemoveAll implements [host.Host]. A mount point below the path is an error, and
// what is mounted there is not touched.
func (h *Host) RemoveAll(path string) error {
	return h.remove(path, removeAll)
}

func (h *Host) remove(path string, act func(dir int, name string) error) error {
	e, err := h.entry(path)
	if err != nil {
		return pathError("remove", path, ignore(err, unix.ENOENT, unix.ENOTDIR))
	}
	defer e.close()
	return pathError("remove", path, act(e.dir, e.base))
}

func remove(dir int, name string) error {
	if err := notMounted(dir, name); err != nil {
		return err
	}
	err := unix.Unlinkat(dir, name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	return ignore(err, unix.ENOENT)
}

// maxEmptying bounds how often a directory is emptied that others keep filling.
const maxEmptying = 16

func removeAll(dir int, name string) (err error) {
	for range maxEmptying {
		err = remove(dir, name)
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			return err
		}
		if err := empty(dir, name); err != nil {
			return ignore(err, unix.ENOENT)
		}
	}
	return err
}

// empty removes all that is in a directory of the same mount.
func empty(parent int, name string) error {
	fd, err := openat2(parent, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), name)
	names, err := dir.Readdirnames(-1)
	for _, child := range names {
		err = errors.Join(err, removeAll(fd, child))
	}
	return errors.Join(err, dir.Close())
}
