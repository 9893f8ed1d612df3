package linux

import (
	"errors"

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
