package linux

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

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
