package linux

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// OnlyRootWrites implements [host.Handle].
func (n *handle) OnlyRootWrites() (bool, error) {
	only, err := n.h.onlyRootWrites(n.fd)
	return only, pathError("stat", n.path, err)
}

// maxDepth is deeper than any path can name.
const maxDepth = unix.PathMax

// onlyRootWrites looks at an open directory and those above it.
func (h *Host) onlyRootWrites(dir int) (only bool, err error) {
	root, err := fstat(h.rootFD)
	if err != nil {
		return false, err
	}
	at, err := openat2(dir, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unix.Close(at)) }()
	trusted := onlyRootWrites
	for range maxDepth {
		info, err := fstat(at)
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

// actor is who the calling thread is to file systems.
func actor() int {
	uid, err := unix.SetfsuidRetUid(-1) // which is nobody, so it only tells
	if err != nil {
		return os.Geteuid()
	}
	return uid
}

// isRoot reports whether a user is trusted like root: whoever runs Fettle is.
func isRoot(uid int) bool { return uid == 0 || uid == os.Geteuid() }

const (
	othersWrite = 0o022
	stickyBit   = 0o1000
)

// onlyRootWrites reports whether nobody but root can add a name to a directory.
func onlyRootWrites(dir host.FileInfo) bool { return isRoot(dir.UID) && dir.Mode&othersWrite == 0 }

// onlyRootRenames reports whether nobody but root can take away what is root's in a directory.
func onlyRootRenames(dir host.FileInfo) bool {
	return isRoot(dir.UID) && (dir.Mode&othersWrite == 0 || dir.Mode&stickyBit != 0)
}

// onlyRootPutIt reports whether a symlink is root's doing: others could have put another
// hard link of root's symlink into a sticky directory.
func onlyRootPutIt(link, dir host.FileInfo) bool {
	return isRoot(link.UID) && onlyRootRenames(dir) && (onlyRootWrites(dir) || link.Nlink == 1)
}
