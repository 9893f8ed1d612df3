package entry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/xattr"
)

// replace stages a new file beside the entry and renames it into place.
func (e Entry) replace(ctx context.Context, f host.NewFile, prepare func(*descriptor.File) error) (sum [sha256.Size]byte, err error) {
	old, attrs, err := e.attributes(f)
	if err != nil {
		return sum, err
	}
	defer old.close()
	temp, fd, err := e.create()
	if err != nil {
		return sum, err
	}
	defer unix.Close(fd)
	sum, err = e.stage(ctx, fd, f.Content, attrs)
	if err == nil {
		err = e.check(ctx, path.Join(path.Dir(e.Path), temp), fd, f, prepare)
	}
	if err == nil {
		err = e.requireSame(old, f)
	}
	if err == nil {
		err = e.commit(temp)
	}
	if err != nil {
		return [sha256.Size]byte{}, errors.Join(err, e.discard(temp))
	}
	return sum, e.verify(fd, f)
}

// check lets the caller prepare and check the staged file.
func (e Entry) check(ctx context.Context, staged string, fd int, f host.NewFile, prepare func(*descriptor.File) error) error {
	if prepare != nil {
		info, err := descriptor.Stat(fd)
		if err == nil {
			err = prepare(&descriptor.File{FD: fd, Path: staged, Info: info})
		}
		if err != nil {
			return err
		}
	}
	if f.Check == nil {
		return nil
	}
	return f.Check(ctx, staged)
}

// requireSame returns an error if the file to be replaced is no longer the one whose attributes
// the new file got.
func (e Entry) requireSame(old *replaced, f host.NewFile) error {
	switch {
	case f.Was != nil:
		return e.requireUnchanged(*f.Was)
	case old == nil || f.UID != -1 && f.GID != -1 && f.Mode != nil:
		return nil
	}
	if is, err := e.lstat(); err != nil || !is.SameFile(old.info) {
		return errors.Join(descriptor.Ignore(err, unix.ENOENT), host.ErrChanged)
	}
	return nil
}

// verify returns an error if the name stands for another file than the staged one. Only callers that
// set f.Was ask for it.
func (e Entry) verify(fd int, f host.NewFile) error {
	if f.Was == nil {
		return nil
	}
	staged, err := descriptor.Stat(fd)
	if err != nil {
		return err
	}
	is, err := e.lstat()
	if err != nil || !is.SameFile(staged) {
		return errors.Join(descriptor.Ignore(err, unix.ENOENT), host.ErrChanged)
	}
	return nil
}

// stage writes a created file and makes it durable. It closes the descriptor for writing, so that
// a check may execute the file.
func (e Entry) stage(ctx context.Context, created int, content io.Reader, a attributes) (sum [sha256.Size]byte, err error) {
	fd, err := unix.Open(descriptor.Path(created), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return sum, err
	}
	file := os.NewFile(uintptr(fd), e.Base) // errors name the entry: the temporary name would make each of them unique
	sum, err = fill(ctx, file, content)
	if err == nil {
		err = a.apply(fd)
	}
	if err == nil {
		err = unix.Fsync(fd)
	}
	return sum, errors.Join(err, file.Close())
}

// fill copies content into a file that nobody else may read yet.
func fill(ctx context.Context, file *os.File, content io.Reader) (sum [sha256.Size]byte, err error) {
	if content == nil {
		content = strings.NewReader("")
	}
	hash, holes := sha256.New(), &sparse{file: file}
	// io.Copy must go through both writers and see ctx.
	if _, err = io.Copy(io.MultiWriter(holes, hash), host.ContextReader(ctx, content)); err == nil {
		err = holes.end()
	}
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// sparse writes zeros as holes, which take no room: a user's sparse file can be larger than the disk.
type sparse struct {
	file *os.File
	hole int64 // zeros that were not written yet
}

func (s *sparse) Write(p []byte) (int, error) {
	if len(p) == 0 || p[0] == 0 && bytes.Equal(p[1:], p[:len(p)-1]) {
		s.hole += int64(len(p))
		return len(p), nil
	}
	if s.hole > 0 {
		if _, err := s.file.Seek(s.hole, io.SeekCurrent); err != nil {
			return 0, err
		}
		s.hole = 0
	}
	return s.file.Write(p)
}

// end extends the file by a hole at its end.
func (s *sparse) end() error {
	if s.hole == 0 {
		return nil
	}
	at, err := s.file.Seek(s.hole, io.SeekCurrent)
	if err != nil {
		return err
	}
	return s.file.Truncate(at)
}

// apply comes after the content and sets the mode last: a write and a chown may
// clear the set-user-ID bit, and the mode limits the access list.
func (a attributes) apply(fd int) error {
	if err := unix.Fchown(fd, a.uid, a.gid); err != nil {
		return err
	}
	if a.exact {
		if err := xattr.Replace(fd, a.extended); err != nil {
			return err
		}
	}
	return unix.Fchmod(fd, a.mode&0o7777)
}
