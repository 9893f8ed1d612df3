package linux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// A handle is a file that is held by an O_PATH descriptor, to look at.
type handle struct {
	h    *Host
	fd   int
	path string
	info host.FileInfo
}

// newHandle takes the descriptor over, also when it fails.
func newHandle(h *Host, fd int, path string) (*handle, error) {
	info, err := fstat(fd)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &handle{h, fd, path, info}, nil
}

func (h *Host) look(path string, flags uint64) (*handle, error) {
	fd, err := h.openat(path, unix.O_PATH|flags)
	if err != nil {
		return nil, missing(err)
	}
	return newHandle(h, fd, path)
}

// Close implements [host.Handle].
func (n *handle) Close() error { return unix.Close(n.fd) }

// Path implements [host.Handle].
func (n *handle) Path() string { return n.path }

// Info implements [host.Handle].
func (n *handle) Info() host.FileInfo { return n.info }

// Stat implements [host.Handle].
func (n *handle) Stat() (host.FileInfo, error) {
	info, err := fstat(n.fd)
	return info, pathError("stat", n.path, err)
}

// Open implements [host.Handle].
func (n *handle) Open() (io.ReadCloser, error) {
	s, err := n.open()
	if err != nil {
		return nil, pathError("open", n.path, err)
	}
	return s, nil
}

// open comes after a look at what it opens: to open a fifo blocks, and to open a device
// can do anything (a watchdog starts to tick).
func (n *handle) open() (*stream, error) {
	if !n.info.IsRegular() {
		return nil, fmt.Errorf("is a %s, not a regular file", typeName(n.info.Type))
	}
	fd, err := openLeased(fdPath(n.fd))
	if err != nil {
		return nil, err
	}
	return &stream{fd, n.path, n.info.Size}, nil
}

// How long a file may be leased to another process, which the kernel lets delay each open
// by up to 45 seconds: leases of file servers end at once.
const (
	leaseWait  = 5 * time.Second
	leaseRetry = 20 * time.Millisecond
)

var errLeased = fmt.Errorf("another process holds a lease on it and does not give it up: "+
	"look for the process in /proc/locks: %w", unix.EAGAIN)

func openLeased(file string) (fd int, err error) {
	for wait := time.Duration(0); wait < leaseWait; wait += leaseRetry {
		fd, err = unix.Open(file, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
		time.Sleep(leaseRetry) //nolint:forbidigo // the kernel has no call that waits for this long and no longer
	}
	return -1, errLeased
}

// Readlink implements [host.Handle].
func (n *handle) Readlink() (string, error) {
	text, err := readlink(n.fd)
	return text, pathError("readlink", n.path, err)
}

// Xattr implements [host.Handle].
func (n *handle) Xattr(name string) ([]byte, error) {
	value, err := xattr(n.fd, name)
	return value, pathError("getxattr", n.path, err)
}

// ReadDir implements [host.Handle].
func (n *handle) ReadDir() ([]string, error) {
	fd, err := unix.Openat(n.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, pathError("open", n.path, err)
	}
	names, err := closingNames(os.NewFile(uintptr(fd), n.path))
	return names, pathError("read", n.path, err)
}

// Child implements [host.Handle].
func (n *handle) Child(name string) (host.Handle, error) {
	at := path.Join(n.path, name)
	fd, err := below(n.fd, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, n.childError("lookup", at, err)
	}
	child, err := newHandle(n.h, fd, at)
	if err != nil {
		return nil, pathError("lookup", at, err)
	}
	return child, nil
}

func (n *handle) childError(op, at string, err error) error {
	if errors.Is(err, unix.ELOOP) {
		return &host.LinkError{Path: at}
	}
	return pathError(op, at, missing(err))
}

// below opens a relative path without following a symlink or leaving the directory.
func below(dir int, name string, flags uint64) (int, error) {
	return openat2(dir, name, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// Mounted implements [host.Handle].
func (n *handle) Mounted() (bool, error) {
	mounted, err := mountRoot(n.fd, "", unix.AT_EMPTY_PATH)
	return mounted, pathError("look for mount", n.path, err)
}
