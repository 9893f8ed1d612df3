// Package trust says which directories and symlinks only root can have made the way they are.
//
// The user that runs Fettle counts as root.
package trust

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/xattr"
)

// maxDepth is more directories than any path can name.
const maxDepth = unix.PathMax

// OnlyRootWritesPath reports whether only root can add a name to an open directory or put another
// directory in its place, and others could not before Fettle changed that. It checks all directories from there up to the root
// directory.
func OnlyRootWritesPath(rootFD, dirFD int) (only bool, err error) {
	root, err := descriptor.Stat(rootFD)
	if err != nil {
		return false, err
	}
	at, err := descriptor.Reopen(dirFD, unix.O_PATH)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unix.Close(at)) }()
	trusted := OnlyRootWrites
	for range maxDepth {
		info, err := descriptor.Stat(at)
		if err != nil || !trusted(info) {
			return false, err
		}
		if taken, err := isTaken(at); err != nil || taken {
			return false, err
		}
		if info.SameFile(root) {
			return true, nil
		}
		up, err := unix.Openat(at, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return false, err
		}
		_ = unix.Close(at)
		at, trusted = up, onlyRootRenames
	}
	return false, nil
}

// Actor returns the user that the calling thread is to file systems.
func Actor() int {
	uid, err := unix.SetfsuidRetUid(-1) // an invalid user changes nothing and returns the current one
	if err != nil {
		return os.Geteuid()
	}
	return uid
}

// IsRoot reports whether a user is trusted like root.
func IsRoot(uid int) bool { return uid == 0 || uid == os.Geteuid() }

const (
	othersWrite = 0o022
	stickyBit   = 0o1000
)

// OnlyRootWrote reports whether only root can have given a name in an open directory to a file.
func OnlyRootWrote(dirFD int) (bool, error) {
	dir, err := descriptor.Stat(dirFD)
	if err != nil || !OnlyRootWrites(dir) {
		return false, err
	}
	taken, err := isTaken(dirFD)
	return !taken, err
}

// OnlyRootWrites reports whether only root can add a name to a directory.
func OnlyRootWrites(dir host.FileInfo) bool { return IsRoot(dir.UID) && dir.Mode&othersWrite == 0 }

// onlyRootRenames reports whether only root can remove or rename root's files in a directory.
func onlyRootRenames(dir host.FileInfo) bool {
	return IsRoot(dir.UID) && (dir.Mode&othersWrite == 0 || dir.Mode&stickyBit != 0)
}

// Distrust returns why somebody other than root can have put a symlink where it is, as a clause; "" if nobody can. dirs
// are the directories that lead to it, from the root directory down to its own.
//
// A user can move a symlink of root's out of a directory of their own, and link one of another directory, into any directory that
// they can write to, also a sticky one.
func Distrust(link host.FileInfo, dirs []*descriptor.File) (why string, err error) {
	own := dirs[len(dirs)-1]
	switch {
	case !IsRoot(link.UID):
		return fmt.Sprintf("it belongs to user %d", link.UID), nil
	case !OnlyRootWrites(own.Info):
		return "users other than root can write to its directory", nil
	}
	for _, dir := range dirs {
		if !onlyRootRenames(dir.Info) {
			return "users other than root can write to " + dir.Path + ", above it", nil
		}
		taken, err := isTaken(dir.FD)
		if err != nil {
			return "", err
		}
		if taken {
			return "users other than root could write to " + dir.Path + " until Fettle changed its owner or mode, and may have put it there", nil
		}
	}
	return "", nil
}

// takenMark is an attribute of directories that only root can set or remove. It stays with a directory that is moved, and ends
// with it.
const takenMark = "trusted.fettle.taken"

// MarkTaken marks a directory that others can still write to, but soon only root: they may leave symlinks and hard links
// of root's files there, which nothing distinguishes later. A file system without such attributes is no error.
func MarkTaken(fd int) error {
	return descriptor.Ignore(unix.Setxattr(descriptor.Path(fd), takenMark, []byte("1"), 0), unix.ENOTSUP, unix.EPERM)
}

func isTaken(fd int) (bool, error) {
	value, err := xattr.Get(fd, takenMark)
	return len(value) > 0, descriptor.Ignore(err, unix.EPERM)
}
