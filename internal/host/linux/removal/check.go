package removal

import (
	"cmp"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// Check returns why [RemoveAll] would refuse to remove an open file: the file, or one below it, is a mount point, immutable or
// append-only. It looks only as deep as a removal has directories open. What is deeper stops the removal when it gets there.
// read is called with the number of names that are read in a directory, and ends the check with its error.
func Check(fd int, read func(names int) error) error {
	isDir, err := examine(fd, "")
	if err != nil || !isDir {
		return err
	}
	top, err := descriptor.Reopen(fd, unix.O_RDONLY)
	if err != nil {
		return err
	}
	return check{read}.below(top, "", 1)
}

// checkAll is Check for a name in a directory, from which it is to be removed.
func checkAll(dir int, name string) error {
	switch why, err := descriptor.Protection(dir); {
	case err != nil:
		return err
	case why != "":
		return fmt.Errorf("its directory %s: %w", why, unix.EPERM)
	}
	isDir, err := examine(dir, name)
	if err != nil || !isDir {
		return err
	}
	return check{func(int) error { return nil }}.inside(dir, name, "", 1)
}

type check struct{ read func(names int) error }

// inside checks what is in the directory with a name in another one. at is its path relative to what is to be removed, and depth
// how many directories are open with it.
func (c check) inside(dir int, name, at string, depth int) error {
	fd, err := descriptor.OpenBeneath(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil { // another process has put something else there: the removal looks again
		return descriptor.Ignore(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV)
	}
	return c.below(fd, at, depth)
}

// below checks what is in a directory that is open for reading, and closes it.
func (c check) below(fd int, at string, depth int) (err error) {
	dir := os.NewFile(uintptr(fd), at)
	defer dir.Close()
	for err == nil && depth <= maxOpenLevels {
		var names []string
		names, err = dir.Readdirnames(descriptor.NameBatch)
		if err := c.entries(fd, names, at, depth); err != nil {
			return err
		}
	}
	return descriptor.IgnoreEOF(err)
}

func (c check) entries(dir int, names []string, at string, depth int) error {
	if err := c.read(len(names)); err != nil {
		return err
	}
	for _, name := range names {
		at := path.Join(at, name)
		isDir, err := examine(dir, name)
		if err != nil {
			return fmt.Errorf("cannot remove %s in it: %w", at, err)
		}
		if isDir {
			err = c.inside(dir, name, at, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// examine examines a file alone: the one with a name in a directory or, without a name, an open one.
func examine(dir int, name string) (isDir bool, err error) {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var stx unix.Statx_t
	err = unix.Statx(dir, name, flags, unix.STATX_TYPE, &stx)
	switch why := descriptor.ProtectionOf(&stx); {
	case err != nil:
		return false, descriptor.Ignore(err, unix.ENOENT)
	case stx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0:
		return false, descriptor.MountPoint(cmp.Or(name, "it"))
	case why != "":
		return false, fmt.Errorf("it %s: %w", why, unix.EPERM)
	}
	return stx.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}
