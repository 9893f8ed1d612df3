// Package resolve opens paths inside a root directory.
//
// The kernel resolves every path relative to the root's descriptor with openat2(RESOLVE_IN_ROOT), so
// its meaning never depends on this process: an absolute symlink and ".." stay inside the root.
// Where [host.Links] trusts only some symlinks, a path that has any is walked name by name instead.
package resolve

import (
	"errors"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// A Root is the root directory, as an O_PATH descriptor that outlives it.
type Root struct {
	FD     int
	Mounts *MountTable // of the host
}

// Open opens a path and follows all symlinks. With O_NOFOLLOW it does not follow one at the end.
func (r Root) Open(path string, flags uint64) (int, error) {
	return r.open(path, flags, host.FollowAll)
}

// Look opens the file that a path leads to, only to look at it. Flags are 0 or O_NOFOLLOW.
func (r Root) Look(path string, flags uint64) (*descriptor.File, error) {
	fd, err := r.Open(path, unix.O_PATH|flags)
	if err != nil {
		return nil, descriptor.Missing(err)
	}
	return descriptor.NewFile(fd, path)
}

// open opens a path. Symlinks are an error unless all of them may be followed.
func (r Root) open(name string, flags uint64, follow host.FollowLinks) (int, error) {
	if !path.IsAbs(name) {
		return -1, errNotAbsolute
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	if follow != host.FollowAll {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	fd, err := descriptor.Openat2(r.FD, TrimSlashes(name), &how)
	if !errors.Is(err, unix.EXDEV) {
		return fd, err
	}
	if follow != host.FollowAll {
		return r.stepwise(r.FD, strings.TrimLeft(path.Clean(name), "/"), flags)
	}
	return r.walkAcross(name, flags)
}

// walkAcross opens a path that leads into a mount, and follows all symlinks.
func (r Root) walkAcross(name string, flags uint64) (int, error) {
	dir, base, err := r.walk(name, host.Links{Follow: host.FollowAll, AtEnd: flags&unix.O_NOFOLLOW == 0})
	if err != nil {
		return -1, err
	}
	fd, err := r.step(dir.FD, base, flags)
	return fd, errors.Join(err, dir.Close())
}

var errNotAbsolute = errors.New("path is not absolute")

// TrimSlashes removes trailing slashes, which would make the kernel follow a symlink at the end of a path.
func TrimSlashes(path string) string {
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed
	}
	return "/"
}
