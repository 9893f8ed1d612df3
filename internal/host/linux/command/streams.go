package command

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// streams are standard input, output and error as files in memory.
type streams struct{ in, out, err *os.File }

func newStreams(stdin []byte) (*streams, error) {
	s := &streams{}
	for _, f := range []**os.File{&s.in, &s.out, &s.err} {
		fd, err := unix.MemfdCreate("fettle-stream", unix.MFD_CLOEXEC)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		*f = os.NewFile(uintptr(fd), "stream")
	}
	_, err := s.in.Write(stdin)
	if err == nil {
		_, err = s.in.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes our side. The memory is freed once the command has closed its side too.
func (s *streams) Close() error {
	var errs []error
	for _, f := range []*os.File{s.in, s.out, s.err} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// wire connects them to a command.
func (s *streams) wire(c *exec.Cmd) { c.Stdin, c.Stdout, c.Stderr = s.in, s.out, s.err }

// trimEvery is how often memory is freed: a command may write gigabytes in a second.
const trimEvery = 50 * time.Millisecond

// trim frees the memory of output beyond a limit of bytes, which nobody reads, until stop is called.
// The files keep their length.
func (s *streams) trim(limit int) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(trimEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				punch(s.out, int64(limit))
				punch(s.err, int64(limit))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// punch frees the memory of a file from an offset to its end. A failure costs only memory.
func punch(f *os.File, from int64) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	if size := info.Size() - from; size > 0 {
		_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, size)
	}
}

// output reads both outputs, up to a limit of bytes each.
func (s *streams) output(limit int) (res host.Result, err error) {
	for f, to := range map[*os.File]*[]byte{s.out: &res.Stdout, s.err: &res.Stderr} {
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return res, err
		}
		res.Truncated = res.Truncated || size > int64(limit)
		if *to, err = head(f, min(size, int64(limit))); err != nil {
			return res, err
		}
	}
	return res, nil
}

// head returns the first size bytes, nil if there are none, as in every Result.
func head(f *os.File, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	data := make([]byte, size)
	_, err := f.ReadAt(data, 0)
	return data, descriptor.IgnoreEOF(err)
}
