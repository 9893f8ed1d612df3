// Package trust says which directories and symlinks only root can have made the way they are.
//
// The user that runs Fettle counts as root.
package trust

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// maxDepth is more directories than any path can name.
const maxDepth = unix.PathMax

// OnlyRootWritesPath reports whether only root can add a name to an open directory or put another
// directory in its place. It checks all directories from there up to the root directory.
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

// OnlyRootWrites reports whether only root can add a name to a directory.
func OnlyRootWrites(dir host.FileInfo) bool { return IsRoot(dir.UID) && dir.Mode&othersWrite == 0 }

// onlyRootRenames reports whether only root can remove or rename root's files in a directory.
func onlyRootRenames(dir host.FileInfo) bool {
	return IsRoot(dir.UID) && (dir.Mode&othersWrite == 0 || dir.Mode&stickyBit != 0)
}

// RootMadeLink reports whether only root can have put a symlink into its directory. In a sticky
// directory, another user could have made a second hard link of one of root's symlinks.
func RootMadeLink(link, dir host.FileInfo) bool {
	return IsRoot(link.UID) && onlyRootRenames(dir) && (OnlyRootWrites(dir) || link.Nlink == 1)
}
