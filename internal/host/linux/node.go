package linux

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// Look implements [host.Reader].
func (h *Host) Look(path string) (host.Node, error) {
	n, err := h.look(path, unix.O_NOFOLLOW)
	if err != nil {
		return nil, pathError("lstat", path, err)
	}
	return n, nil
}

// A node is something on the host that is held by an O_PATH descriptor.
type node struct {
	fd   int
	path string
	info host.FileInfo
}

func (h *Host) look(path string, flags uint64) (*node, error) {
	fd, err := h.openat(path, unix.O_PATH|flags)
	if err != nil {
		return nil, missing(err)
	}
	info, err := fstat(fd)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &node{fd, path, info}, nil
}

// Info implements [host.Node].
func (n *node) Info() host.FileInfo { return n.info }

// Close implements [host.Node].
func (n *node) Close() error { return unix.Close(n.fd) }

// Open implements [host.Node].
func (n *node) Open() (io.ReadCloser, error) {
	s, err := n.open()
	if err != nil {
		return nil, pathError("open", n.path, err)
	}
	return s, nil
}

// open comes after a look at what it opens: to open a fifo blocks, and to open a device
// can do anything (a watchdog starts to tick).
func (n *node) open() (*stream, error) {
	if !n.info.IsRegular() {
		return nil, fmt.Errorf("is a %s, not a regular file", typeName(n.info.Type))
	}
	fd, err := unix.Open(fdPath(n.fd), unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &stream{fd, n.path, n.info.Size}, nil
}

// A stream reads a regular file. Such a file never makes a reader wait, so it needs
// nothing of what an *os.File does to be able to.
type stream struct {
	fd   int
	path string
	size int64 // as it was before it was opened
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.read(p)
	if err != nil {
		return 0, pathError("read", s.path, err)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// read reads nothing at the end.
func (s *stream) read(p []byte) (n int, err error) {
	for {
		if n, err = unix.Read(s.fd, p); !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// Close implements [io.Closer].
func (s *stream) Close() error { return unix.Close(s.fd) }
