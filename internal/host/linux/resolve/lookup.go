package resolve

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// Lookup opens the file at a path, only to look at it.
func (r Root) Lookup(name string, links host.Links) (*descriptor.File, error) {
	flags := uint64(unix.O_PATH)
	if !links.AtEnd || links.Follow == host.FollowNone {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := r.open(name, flags, links.Follow)
	if err == nil {
		return descriptor.NewFile(fd, name)
	}
	if !needsWalk(err, links) {
		return nil, err
	}
	dir, base, err := r.walk(name, links)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return r.Beneath(dir, base, name)
}

// Parent opens the directory of a path and returns the name in it, "." for the root directory.
func (r Root) Parent(name string, links host.Links) (dir *descriptor.File, base string, err error) {
	up, base := path.Split(TrimSlashes(name))
	if base == "" {
		base = "."
	}
	fd, err := r.open(up, unix.O_PATH|unix.O_DIRECTORY, links.Follow)
	if err == nil && links.AtEnd && r.isSymlink(fd, base) {
		err = errors.Join(unix.ELOOP, unix.Close(fd))
	}
	if err == nil {
		dir, err = descriptor.NewFile(fd, TrimSlashes(up))
		return dir, base, err
	}
	if !needsWalk(err, links) {
		return nil, "", err
	}
	return r.walk(name, links)
}

func (r Root) isSymlink(dir int, name string) bool {
	fd, err := r.step(dir, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return false
	}
	file, err := descriptor.NewFile(fd, name)
	if err != nil {
		return false
	}
	defer file.Close()
	return file.Info.IsSymlink()
}

// needsWalk reports whether the kernel stopped at a symlink that may be one to follow.
func needsWalk(err error, links host.Links) bool {
	return errors.Is(err, unix.ELOOP) && links.Follow != host.FollowNone
}

// ErrNoEntry means that a path ends in no name: it is the root directory, "." or "..".
var ErrNoEntry = errors.New("path does not end in a name that can be changed")

// Entry opens the directory that holds a path, for reading so that it can be synced, and returns
// the name in it. It never follows a symlink at the path itself. A symlink that is not followed is a *host.LinkError.
func (r Root) Entry(name string, follow host.FollowLinks) (dir int, base string, err error) {
	trimmed := TrimSlashes(name)
	parent, base := path.Split(trimmed)
	if base == "" || base == "." || base == ".." {
		return -1, "", ErrNoEntry
	}
	dir, err = r.open(parent, unix.O_RDONLY|unix.O_DIRECTORY, follow)
	if links := (host.Links{Follow: follow}); err != nil && needsWalk(err, links) {
		dir, err = r.walkAndReopen(trimmed, links)
	}
	switch {
	case errors.Is(err, unix.ELOOP):
		return -1, "", &host.LinkError{Path: trimmed}
	case err != nil:
		return -1, "", err
	}
	return dir, base, nil
}

func (r Root) walkAndReopen(name string, links host.Links) (int, error) {
	dir, _, err := r.walk(name, links)
	if err != nil {
		return -1, err
	}
	fd, err := descriptor.Reopen(dir.FD, unix.O_RDONLY)
	return fd, errors.Join(err, dir.Close())
}
