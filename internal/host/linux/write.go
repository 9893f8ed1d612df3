package linux

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// WriteFile implements [host.Host].
func (h *Host) WriteFile(ctx context.Context, path string, f host.NewFile) ([sha256.Size]byte, error) {
	e, err := h.entry(path)
	if err != nil {
		return [sha256.Size]byte{}, pathError("write", path, err)
	}
	defer e.close()
	sum, err := e.write(ctx, f)
	return sum, pathError("write", path, err)
}

// write is replace that is durable, and clears away what was left here.
func (e entry) write(ctx context.Context, f host.NewFile) ([sha256.Size]byte, error) {
	e.h.sweep(e)
	sum, err := e.replace(ctx, f)
	if err == nil {
		err = e.h.durable.sync(e.dir)
	}
	return sum, err
}

// replace stages a new file beside the entry and renames it into place.
func (e entry) replace(ctx context.Context, f host.NewFile) (sum [sha256.Size]byte, err error) {
	old, attrs, err := e.attributes(f)
	if err != nil {
		return sum, err
	}
	defer old.release()
	temp, held, err := e.create()
	if err != nil {
		return sum, err
	}
	defer unix.Close(held)
	sum, err = e.stage(ctx, held, f.Content, attrs)
	if err == nil {
		err = e.examine(ctx, temp, held, f)
	}
	if err == nil {
		err = e.settled(old, f)
	}
	if err == nil {
		err = e.commit(temp)
	}
	if err != nil {
		return [sha256.Size]byte{}, errors.Join(err, e.discard(temp))
	}
	return sum, e.placed(held, f)
}

// examine has the caller look at what is staged.
func (e entry) examine(ctx context.Context, temp string, held int, f host.NewFile) error {
	staged := path.Join(path.Dir(e.path), temp)
	if f.Prepare != nil {
		info, err := fstat(held)
		if err == nil {
			err = f.Prepare(writable{handle: &handle{e.h, held, staged, info}})
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

// settled is an error when the file to be replaced is another than the one whose attributes
// the new one has.
func (e entry) settled(old *replaced, f host.NewFile) error {
	switch {
	case f.Was != nil:
		return e.still(*f.Was)
	case old == nil || f.UID != -1 && f.GID != -1 && f.Mode != nil:
		return nil
	}
	if is, err := e.lstat(); err != nil || !is.SameFile(old.info) {
		return errors.Join(ignore(err, unix.ENOENT), host.ErrChanged)
	}
	return nil
}

// placed is an error when something else has the name than what was staged.
func (e entry) placed(held int, f host.NewFile) error {
	if f.Was == nil {
		return nil
	}
	mine, err := fstat(held)
	if err != nil {
		return err
	}
	is, err := e.lstat()
	if err != nil || !is.SameFile(mine) {
		return errors.Join(ignore(err, unix.ENOENT), host.ErrChanged)
	}
	return nil
}

// stage makes a created file complete and durable. Nobody has it open for writing at
// the end, so that a check may execute it.
func (e entry) stage(ctx context.Context, held int, content io.Reader, a attributes) (sum [sha256.Size]byte, err error) {
	fd, err := unix.Open(fdPath(held), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return sum, err
	}
	file := os.NewFile(uintptr(fd), e.base) // for its errors: the temporary name would make each one new
	sum, err = fill(ctx, file, content)
	if err == nil {
		err = a.give(fd)
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
	hash := sha256.New()
	// io.Copy must go through both writers and see ctx.
	if _, err = io.Copy(io.MultiWriter(file, hash), host.EndingWith(ctx, content)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// give comes after the content and sets the mode last: both a write and a chown may
// clear the set-user-ID bit, and the mode bounds the access list.
func (a attributes) give(fd int) error {
	if err := unix.Fchown(fd, a.uid, a.gid); err != nil {
		return err
	}
	if a.exact {
		if err := inherit(fd, a.kept); err != nil {
			return err
		}
	}
	return unix.Fchmod(fd, a.mode&0o7777)
}

// tempName is hidden, recognisable and cannot be guessed. Nothing in it is anybody else's
// choice, since a name is passed on to commands.
func tempName() string { return ".fettle-" + rand.Text() }
