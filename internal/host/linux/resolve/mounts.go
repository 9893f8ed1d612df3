package resolve

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// A user can mount a file system of their own where they can write, and need not answer what is asked of it: a program that looks into
// it then waits for ever, and a signal does not end that. So no path leads into such a mount.

// errUsersMount is the error of a path that leads into a mount of a user.
type errUsersMount struct{ user string }

// Error says what to do.
func (e errUsersMount) Error() string {
	return fmt.Sprintf("user %s has mounted a file system there, which may never answer: unmount it, or use another path", e.user)
}

// Beneath opens a child of a directory by a relative path. It follows no symlink. full is the path of the child, for messages.
func (r Root) Beneath(dir *descriptor.File, name, full string) (*descriptor.File, error) {
	fd, err := r.OpenBeneath(dir.FD, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return descriptor.NewFile(fd, full)
}

// OpenBeneath opens a relative path. It follows no symlink and cannot leave the directory.
func (r Root) OpenBeneath(dir int, name string, flags uint64) (int, error) {
	fd, err := descriptor.OpenBeneath(dir, name, flags)
	if !errors.Is(err, unix.EXDEV) || !filepath.IsLocal(name) {
		return fd, err
	}
	return r.stepwise(dir, name, flags)
}

// stepwise is OpenBeneath for a path that leads into a mount.
func (r Root) stepwise(dir int, name string, flags uint64) (fd int, err error) {
	up, base := path.Split(path.Clean(name))
	at, err := descriptor.Reopen(dir, unix.O_PATH)
	if err != nil {
		return -1, err
	}
	defer func() { err = errors.Join(err, unix.Close(at)) }()
	for _, name := range split(up) {
		next, err := r.step(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if err != nil {
			return -1, err
		}
		_ = unix.Close(at)
		at = next
	}
	return r.step(at, base, flags)
}

// step opens a name in a directory. A symlink there is an error, or is opened itself with O_PATH and O_NOFOLLOW.
func (r Root) step(dir int, name string, flags uint64) (int, error) {
	fd, err := descriptor.OpenBeneath(dir, name, flags)
	if !errors.Is(err, unix.EXDEV) {
		return fd, err
	}
	fd, err = descriptor.Openat2(dir, name, &unix.OpenHow{
		Flags:   unix.O_PATH | flags&(unix.O_DIRECTORY|unix.O_NOFOLLOW) | unix.O_CLOEXEC, // asks the file system nothing
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return -1, err
	}
	if err := r.checkMount(fd); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	if flags&unix.O_PATH != 0 {
		return fd, nil
	}
	opened, err := unix.Open(descriptor.Path(fd), int(flags&^unix.O_NOFOLLOW)|unix.O_CLOEXEC, 0) //nolint:gosec // flags are few bits
	return opened, errors.Join(err, unix.Close(fd))
}

// checkMount returns an error if a user has mounted the file system of a file.
func (r Root) checkMount(fd int) error {
	var stx unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &stx)
	if err != nil || stx.Mask&unix.STATX_MNT_ID == 0 { // before Linux 5.8
		return err
	}
	user, err := r.Mounts.user(stx.Mnt_id)
	if err != nil {
		return err
	}
	if user != "" {
		return errUsersMount{user}
	}
	return nil
}
