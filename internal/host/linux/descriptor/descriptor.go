// Package descriptor has the system calls on file descriptors that the other packages of the real host share.
//
// It hides only the kernel's quirks: calls to retry, sizes to ask for first, files that block when
// they are opened. Descriptors are plain ints, because that is what the *at system calls take.
package descriptor

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// MaxRetries bounds how often a call is retried that the kernel aborted because something was
// renamed, mounted or changed at the same time.
const MaxRetries = 256

// Openat2 is openat2(2) with retries.
func Openat2(dir int, path string, how *unix.OpenHow) (fd int, err error) {
	for range MaxRetries {
		fd, err = unix.Openat2(dir, path, how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
	return -1, err
}

// OpenBeneath opens a relative path. It follows no symlink, enters no mount, which is EXDEV, and cannot leave the directory.
func OpenBeneath(dir int, name string, flags uint64) (int, error) {
	return Openat2(dir, name, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
}

// Reopen opens a directory again, with other flags.
func Reopen(dir, flags int) (int, error) {
	return unix.Openat(dir, ".", flags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// Path names an open descriptor of this process, for calls that take only a path.
func Path(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Readlink returns the text of a symlink. Any other type is EINVAL.
func Readlink(fd int) (string, error) {
	info, err := Stat(fd)
	if err != nil {
		return "", err
	}
	if !info.IsSymlink() {
		return "", fmt.Errorf("is a %s, not a symlink: %w", typeName(info.Type), unix.EINVAL)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// IsMountPoint reports whether something is mounted on a name in a directory. A name that
// does not exist is no mount point.
func IsMountPoint(dir int, name string) (bool, error) {
	return mountRoot(dir, name, unix.AT_SYMLINK_NOFOLLOW)
}

// IsMountRoot reports whether an open file is the root of a mount.
func IsMountRoot(fd int) (bool, error) { return mountRoot(fd, "", unix.AT_EMPTY_PATH) }

func mountRoot(dir int, name string, flags int) (bool, error) {
	var stx unix.Statx_t
	err := unix.Statx(dir, name, flags|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, 0, &stx)
	return err == nil && stx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, Ignore(err, unix.ENOENT)
}

// RequireNoMount returns an error if something is mounted on a name. The kernel checks only the
// caller's own mount namespace: it lets us remove or replace the mount point of another host,
// and unmounts it silently.
func RequireNoMount(dir int, name string) error {
	mounted, err := IsMountPoint(dir, name)
	if mounted {
		return MountPoint(name)
	}
	return err
}

// MountPoint is the error of a change of a name on which something is mounted.
func MountPoint(name string) error {
	return fmt.Errorf("%s is a mount point: unmount it first: %w", name, unix.EBUSY)
}

// OpenName opens a name in a directory, and no symlink. A mount point is an error: its file system may be a user's, and never answer.
func OpenName(dir int, name string, flags uint64) (int, error) {
	fd, err := OpenBeneath(dir, name, flags|unix.O_NOFOLLOW)
	if errors.Is(err, unix.EXDEV) {
		err = MountPoint(name)
	}
	return fd, err
}

// Ignore returns err unless it is one of these.
func Ignore(err error, these ...unix.Errno) error {
	for _, this := range these {
		if errors.Is(err, this) {
			return nil
		}
	}
	return err
}

// PathError adds the operation and the path to an error. It is nil if err is.
func PathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// LookupError is the error of opening a path or a child: a *host.LinkError if a symlink was in the way.
func LookupError(path string, err error) error {
	if link := new(host.LinkError); errors.As(err, &link) {
		return err
	}
	if errors.Is(err, unix.ELOOP) {
		return &host.LinkError{Path: path}
	}
	return PathError("lookup", path, Missing(err))
}

// Missing turns "a component is not a directory" into fs.ErrNotExist, which is what it means for
// a path that leads through that component.
func Missing(err error) error {
	if errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
	}
	return err
}
