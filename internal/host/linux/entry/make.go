package entry

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/trust"
	"github.com/fettle-dev/fettle/internal/host/linux/xattr"
)

// Mkdir makes a directory and opens it. The umask has no effect. Until it has its mode, the
// directory is private.
func (e Entry) Mkdir(mode uint32) (*descriptor.File, error) {
	if err := unix.Mkdirat(e.Dir, e.Base, 0o700); err != nil {
		return nil, err
	}
	made, err := e.openStaged(e.Base)
	if err != nil {
		return nil, err
	}
	if !isNew(made) {
		return nil, errors.Join(host.ErrChanged, made.Close())
	}
	if err := e.publish(made, mode); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	made.Info.Mode = mode & 0o7777
	return made, nil
}

// openStaged opens the file that was just made under a name, as what the entry is going to be.
func (e Entry) openStaged(name string) (*descriptor.File, error) {
	fd, err := descriptor.OpenBeneath(e.Dir, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return descriptor.NewFile(fd, e.Path)
}

// isNew reports whether a directory is the one that was just made, or is like it: anyone who can
// write to the directory above could have put another in its place.
func isNew(dir *descriptor.File) bool {
	if !dir.Info.IsDir() || dir.Info.Mode&0o077 != 0 || dir.Info.UID != trust.Actor() {
		return false
	}
	fd, err := descriptor.Reopen(dir.FD, unix.O_RDONLY)
	if err != nil {
		return false
	}
	names, err := descriptor.Names(fd, dir.Path)
	return err == nil && len(names) == 0
}

// publish gives a new directory its mode. It removes the access lists that another user's directory
// gave it.
func (e Entry) publish(made *descriptor.File, mode uint32) error {
	parent, err := descriptor.Stat(e.Dir)
	if err != nil {
		return err
	}
	if !trust.IsRoot(parent.UID) && parent.UID != made.Info.UID {
		for _, list := range []string{xattr.AccessACL, xattr.DefaultACL} {
			if err := xattr.Remove(made.FD, list); err != nil {
				return err
			}
		}
	}
	return unix.Chmod(descriptor.Path(made.FD), mode&0o7777)
}

// Symlink makes a symlink with this text and opens it. It replaces anything but a directory.
func (e Entry) Symlink(text string) (*descriptor.File, error) {
	if info, err := e.lstat(); err == nil && info.IsDir() {
		return nil, unix.EISDIR
	}
	temp := tempName()
	if err := unix.Symlinkat(text, e.Dir, temp); err != nil {
		return nil, err
	}
	made, err := e.openStaged(temp)
	if err != nil {
		return nil, err
	}
	if got, err := descriptor.Readlink(made.FD); err != nil || got != text || made.Info.UID != trust.Actor() {
		return nil, errors.Join(err, host.ErrChanged, made.Close())
	}
	if err := e.commit(temp); err != nil {
		return nil, errors.Join(err, e.discard(temp), made.Close())
	}
	return made, nil
}
