package descriptor

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Stream reads a regular file. Reading such a file never blocks, so it needs none of the
// poller support of an *os.File.
type Stream struct {
	fd   int
	path string
	size int64 // when it was looked at, before it was opened
	at   int64 // what was read
	end  bool  // nothing is left
}

// OpenStream opens the file of an O_PATH descriptor for reading. Any type but a regular file is
// an error: opening a fifo blocks, and opening a device can do anything (a watchdog starts to tick). So is
// a file of the kernel that gives what is read to one reader only.
func OpenStream(fd int, path string, info host.FileInfo, wait *Patience) (*Stream, error) {
	if !info.IsRegular() {
		return nil, fmt.Errorf("is a %s, not a regular file", typeName(info.Type))
	}
	if err := requireRepeatable(fd); err != nil {
		return nil, err
	}
	fd, err := openLeased(Path(fd), wait)
	if err != nil {
		return nil, err
	}
	return &Stream{fd: fd, path: path, size: info.Size}, nil
}

// How long to wait for other processes to give up their leases on files. The kernel lets each of them delay
// each open by up to 45 seconds; file servers give up theirs at once. A user can have leases on any number of files.
const (
	leaseWait    = 5 * time.Second // for one file
	leaseRetry   = 20 * time.Millisecond
	leaseRecover = 12 // times what was waited, until that is available again
)

var errLeased = fmt.Errorf("another process holds a lease on it and does not give it up: "+
	"look for the process in /proc/locks: %w", unix.EAGAIN)

// Patience is how long opens may still wait for leases, all together: in the end a twelfth of the time, and one retry for each. The zero
// value is ready, and safe for concurrent use.
type Patience struct {
	mu   sync.Mutex
	used time.Duration
	at   time.Time // of used
}

// take reports whether there is patience for one more retry.
func (p *Patience) take(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used, p.at = max(0, p.used-now.Sub(p.at)/leaseRecover), now
	if p.used >= leaseWait {
		return false
	}
	p.used += leaseRetry
	return true
}

// openLeased tries at least twice.
func openLeased(file string, wait *Patience) (int, error) {
	for patient := true; ; {
		fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		switch {
		case !errors.Is(err, unix.EAGAIN):
			return fd, err
		case !patient:
			return -1, errLeased
		}
		patient = wait.take(time.Now())
		time.Sleep(leaseRetry) //nolint:forbidigo // the kernel has no call that waits for a lease with a deadline
	}
}

// Read implements [io.Reader].
func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.read(p)
	if err != nil {
		return 0, PathError("read", s.path, err)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// read returns 0 at the end of the file. A read of less than there is room for, which ends where the file ended when it was looked
// at, was the last: no other is made to learn that.
func (s *Stream) read(p []byte) (n int, err error) {
	for !s.end {
		if n, err = unix.Read(s.fd, p); errors.Is(err, unix.EINTR) {
			continue
		}
		n = max(n, 0)
		s.at += int64(n)
		s.end = n > 0 && n < len(p) && s.at == s.size
		return n, err
	}
	return 0, nil
}

// ReadAll reads the file, or fails if it has more than limit bytes.
func (s *Stream) ReadAll(limit int64) ([]byte, error) {
	if s.size > limit {
		return nil, tooLarge(limit)
	}
	// Files in /proc claim to be empty, so the size is only a first guess.
	data := make([]byte, 0, max(s.size+1, 512))
	for int64(len(data)) <= limit {
		n, err := s.read(data[len(data):cap(data)])
		switch {
		case err != nil:
			return nil, err
		case n == 0:
			return data, nil
		}
		data = data[:len(data)+n]
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
	}
	return nil, tooLarge(limit)
}

func tooLarge(limit int64) error {
	return fmt.Errorf("is larger than %d bytes: stream it instead", limit)
}

// Close implements [io.Closer].
func (s *Stream) Close() error { return unix.Close(s.fd) }
