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
type Root struct{ FD int }

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
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if follow != host.FollowAll {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	return descriptor.Openat2(r.FD, TrimSlashes(name), &how)
}

var errNotAbsolute = errors.New("path is not absolute")

// TrimSlashes removes trailing slashes, which would make the kernel follow a symlink at the end of a path.
func TrimSlashes(path string) string {
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed
	}
	return "/"
}
