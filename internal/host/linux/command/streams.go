package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
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

// punch frees the memory of a file from an offset to its tail. A failure costs only memory.
func punch(f *os.File, from int64) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	if size := info.Size() - tailSize - from; size > 0 {
		_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, size)
	}
}

// output reads both outputs, up to a limit of bytes each.
func (s *streams) output(limit int) (host.Result, error) {
	size, err := s.err.Seek(0, io.SeekEnd)
	if err != nil {
		return host.Result{}, err
	}
	return s.outputUntil(size, limit)
}

// outputUntil is output with an offset at which standard error ends.
func (s *streams) outputUntil(errEnd int64, limit int) (res host.Result, err error) {
	outEnd, err := s.out.Seek(0, io.SeekEnd)
	if err != nil {
		return res, err
	}
	res.Truncated = max(outEnd, errEnd) > int64(limit)
	if res.Stdout, err = head(s.out, min(outEnd, int64(limit))); err != nil {
		return res, err
	}
	res.Stderr, err = head(s.err, min(errEnd, int64(limit)))
	return res, err
}

// result reads the outputs and, at the end of standard error, the line "MARK CODE" that
// reports the end of the command.
func (s *streams) result(mark string, limit int) (res host.Result, ended bool, err error) {
	size, err := s.err.Seek(0, io.SeekEnd)
	if err != nil {
		return res, false, err
	}
	end, code, ended, err := findEnd(s.err, size, mark)
	if err != nil {
		return res, false, err
	}
	res, err = s.outputUntil(end, limit)
	res.ExitCode = code
	return res, ended && err == nil, err
}

// tailSize is how far from the end to look for that line: children that outlived the command may
// have written after it.
const tailSize = 64 << 10

// findEnd returns the offset of the mark, where the command's own output ends, and the code
// after it.
func findEnd(f *os.File, size int64, mark string) (end int64, code int, ended bool, err error) {
	start := max(0, size-tailSize)
	tail := make([]byte, size-start)
	if _, err := f.ReadAt(tail, start); err != nil && !errors.Is(err, io.EOF) {
		return size, 0, false, err
	}
	at := bytes.LastIndex(tail, []byte("\n"+mark+" "))
	if at < 0 {
		return size, 0, false, nil
	}
	line, _, _ := bytes.Cut(tail[at+len(mark)+2:], []byte("\n"))
	code, err = strconv.Atoi(string(line))
	return start + int64(at), code, err == nil, nil
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
