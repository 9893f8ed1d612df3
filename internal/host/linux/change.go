package linux

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Mkdir implements [host.Host]. The umask plays no part.
func (h *Host) Mkdir(path string, mode uint32) error {
	return h.change("mkdir", path, func(e entry) error { return e.mkdir(mode) })
}

// Symlink implements [host.Host].
func (h *Host) Symlink(text, path string) error {
	return h.change("symlink", path, func(e entry) error { return e.symlink(text) })
}

// change opens the entry of a path for one act.
func (h *Host) change(op, path string, act func(entry) error) error {
	e, err := h.entry(path)
	if err != nil {
		return pathError(op, path, err)
	}
	defer e.close()
	return pathError(op, path, act(e))
}

// mkdir makes the directory private and opens it up only when it has its mode.
func (e entry) mkdir(mode uint32) error {
	if err := unix.Mkdirat(e.dir, e.base, 0o700); err != nil {
		return err
	}
	fd, err := unix.Openat(e.dir, e.base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fchmod(fd, mode&0o7777), unix.Close(fd))
}

func (e entry) symlink(text string) error {
	if info, err := e.lstat(); err == nil && info.IsDir() {
		return unix.EISDIR
	}
	temp := e.tempName()
	if err := unix.Symlinkat(text, e.dir, temp); err != nil {
		return err
	}
	if err := e.commit(temp); err != nil {
		return errors.Join(err, e.discard(temp))
	}
	return nil
}

// Chown implements [host.Host]. As everywhere on Linux it clears the set-user-ID
// bit of an executable: set the mode afterwards.
func (h *Host) Chown(path string, uid, gid int) error {
	return h.changeNode("chown", path, func(fd int) error {
		return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH)
	})
}

// Chmod implements [host.Host].
func (h *Host) Chmod(path string, mode uint32) error {
	return h.changeNode("chmod", path, func(fd int) error {
		info, err := fstat(fd)
		if err != nil {
			return err
		}
		if info.IsSymlink() {
			return fmt.Errorf("is a symlink, which has no mode: %w", unix.EOPNOTSUPP)
		}
		return unix.Chmod(fdPath(fd), mode&0o7777)
	})
}

// changeNode opens what is at a path, a symlink as itself, for one act.
func (h *Host) changeNode(op, path string, act func(fd int) error) error {
	fd, err := h.openat(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return pathError(op, path, missing(err))
	}
	defer unix.Close(fd)
	return pathError(op, path, act(fd))
}
