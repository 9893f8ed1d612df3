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
	h.sweep(e)
	sum, err := e.replace(ctx, f)
	if err == nil {
		err = h.durable.sync(e.dir)
	}
	return sum, pathError("write", path, err)
}

// replace stages a new file beside the entry and renames it into place.
func (e entry) replace(ctx context.Context, f host.NewFile) (sum [sha256.Size]byte, err error) {
	attrs, err := e.attributes(f)
	if err != nil {
		return sum, err
	}
	temp, held, err := e.create()
	if err != nil {
		return sum, err
	}
	defer unix.Close(held)
	sum, err = e.stage(ctx, held, f.Content, attrs)
	if err == nil && f.Check != nil {
		err = f.Check(ctx, path.Join(path.Dir(e.path), temp))
	}
	if err == nil {
		err = e.commit(temp)
	}
	if err != nil {
		return [sha256.Size]byte{}, errors.Join(err, e.discard(temp))
	}
	return sum, nil
}

// attributes are what a new file gets besides its content.
type attributes struct {
	uid, gid int
	mode     uint32
	// replaces says that there was a regular file, whose extended attributes are kept.
	replaces bool
	kept     []extended
}

// attributes settles what f leaves open: the file that is replaced decides, else
// root and 0644. A directory in the way is an error.
func (e entry) attributes(f host.NewFile) (attributes, error) {
	a := attributes{mode: 0o644}
	old, err := e.lstat()
	switch {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		return a, err
	case old.IsDir():
		return a, unix.EISDIR
	case old.IsRegular():
		a = attributes{uid: old.UID, gid: old.GID, mode: old.Mode, replaces: true}
		if a.kept, err = e.lasting(); err != nil {
			return a, err
		}
	}
	a.override(f)
	return a, nil
}

// override is by what f says.
func (a *attributes) override(f host.NewFile) {
	if f.UID != -1 {
		a.uid = f.UID
	}
	if f.GID != -1 {
		a.gid = f.GID
	}
	if f.Mode != nil {
		a.mode = *f.Mode
	}
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
	if a.replaces {
		if err := inherit(fd, a.kept); err != nil {
			return err
		}
	}
	return unix.Fchmod(fd, a.mode&0o7777)
}

// tempName is hidden, recognisable and cannot be guessed. Long names are cut, as a
// name has at most 255 bytes.
func (e entry) tempName() string {
	base := e.base
	if len(base) > maxTempBase {
		base = strings.ToValidUTF8(base[:maxTempBase], "")
	}
	return ".fettle-" + base + "-" + rand.Text()
}

const maxTempBase = 100
