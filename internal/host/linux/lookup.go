package linux

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// Lookup implements [host.Reader].
func (h *Host) Lookup(name string, links host.Links) (host.Handle, error) {
	n, err := h.lookup(name, links)
	if err != nil {
		return nil, lookupError(name, err)
	}
	return n, nil
}

// lookup leaves it to the kernel unless there is a symlink to decide about.
func (h *Host) lookup(name string, links host.Links) (*handle, error) {
	flags := uint64(unix.O_PATH)
	if !links.AtEnd || links.Follow == host.FollowNone {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := h.inRoot(name, flags, links.Follow)
	if err == nil {
		return newHandle(h, fd, name)
	}
	if !decides(err, links) {
		return nil, missing(err)
	}
	dir, base, err := h.walkTo(name, links)
	if err != nil {
		return nil, missing(err)
	}
	defer unix.Close(dir.fd)
	if fd, err = below(dir.fd, base, unix.O_PATH|unix.O_NOFOLLOW); err != nil {
		return nil, missing(err)
	}
	return newHandle(h, fd, name)
}

// LookupParent implements [host.Reader].
func (h *Host) LookupParent(name string, links host.Links) (host.Handle, string, error) {
	dir, base, err := h.parent(name, links)
	if err != nil {
		return nil, "", lookupError(name, err)
	}
	return dir, base, nil
}

// Edit implements [host.Host].
func (h *Host) Edit(name string, links host.Links) (host.WritableHandle, error) {
	dir, base, err := h.parent(name, links)
	if err != nil {
		return nil, lookupError(name, err)
	}
	n, err := writable{handle: dir}.edit(base, name)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, lookupError(name, err)
	}
	return n, nil
}

// EditParent implements [host.Host].
func (h *Host) EditParent(name string, links host.Links) (host.WritableHandle, string, error) {
	dir, base, err := h.parent(name, links)
	if err != nil {
		return nil, "", lookupError(name, err)
	}
	return writable{handle: dir}, base, nil
}

// parent opens the directory of a path for what is to be changed in it.
func (h *Host) parent(name string, links host.Links) (*handle, string, error) {
	up, base := path.Split(trimSlashes(name))
	if base == "" {
		base = "."
	}
	fd, err := h.inRoot(up, unix.O_PATH|unix.O_DIRECTORY, links.Follow)
	if err == nil && links.AtEnd && isSymlink(fd, base) {
		err = errors.Join(unix.ELOOP, unix.Close(fd))
	}
	if err == nil {
		n, err := newHandle(h, fd, trimSlashes(up))
		return n, base, err
	}
	if !decides(err, links) {
		return nil, "", err
	}
	return h.walkTo(name, links)
}

func isSymlink(dir int, name string) bool {
	info, err := entry{dir: dir, base: name}.lstat()
	return err == nil && info.IsSymlink()
}

// decides reports whether a symlink stopped the kernel that may be one to follow.
func decides(err error, links host.Links) bool {
	return errors.Is(err, unix.ELOOP) && links.Follow != host.FollowNone
}

// inRoot opens a path. Symlinks are an error unless all of them may be followed.
func (h *Host) inRoot(name string, flags uint64, follow host.FollowLinks) (int, error) {
	if !path.IsAbs(name) {
		return -1, errNotAbsolute
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if follow != host.FollowAll {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	return openat2(h.rootFD, trimSlashes(name), &how)
}

func lookupError(name string, err error) error {
	if link := new(host.LinkError); errors.As(err, &link) {
		return err
	}
	if errors.Is(err, unix.ELOOP) {
		return &host.LinkError{Path: name}
	}
	return pathError("lookup", name, missing(err))
}
