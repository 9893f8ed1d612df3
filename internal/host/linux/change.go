package linux

import (
	"context"
	"crypto/sha256"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/entry"
	"github.com/fettle-dev/fettle/internal/host/linux/resolve"
)

// entry opens the directory that holds a path, to change the name in it. It follows the symlinks
// that root put there: a change by path is not meant to land elsewhere.
func (h *Host) entry(path string) (entry.Entry, error) {
	dir, base, err := h.root.Entry(path, h.follow)
	if err != nil {
		return entry.Entry{}, err
	}
	return h.entries.New(dir, base, resolve.TrimSlashes(path)), nil
}

// WriteFile implements [host.Host].
func (h *Host) WriteFile(ctx context.Context, path string, f host.NewFile) (sum [sha256.Size]byte, err error) {
	e, err := h.entry(path)
	if err != nil {
		return sum, descriptor.PathError("write", path, err)
	}
	defer e.Close()
	sum, err = h.write(ctx, e, f)
	return sum, descriptor.PathError("write", path, err)
}

// write hands the staged file to f.Prepare as a handle.
func (h *Host) write(ctx context.Context, e entry.Entry, f host.NewFile) ([sha256.Size]byte, error) {
	if f.Prepare == nil {
		return e.Write(ctx, f, nil)
	}
	return e.Write(ctx, f, func(staged *descriptor.File) error {
		return f.Prepare(writable{handle: &handle{h, staged}})
	})
}

// Mkdir implements [host.Host]. The umask has no effect.
func (h *Host) Mkdir(path string, mode uint32) error {
	return h.make("mkdir", path, func(e entry.Entry) (*descriptor.File, error) { return e.Mkdir(mode) })
}

// Symlink implements [host.Host].
func (h *Host) Symlink(text, path string) error {
	return h.make("symlink", path, func(e entry.Entry) (*descriptor.File, error) { return e.Symlink(text) })
}

func (h *Host) make(op, path string, act func(entry.Entry) (*descriptor.File, error)) error {
	e, err := h.entry(path)
	if err != nil {
		return descriptor.PathError(op, path, err)
	}
	defer e.Close()
	made, err := act(e)
	if err == nil {
		err = made.Close()
	}
	return descriptor.PathError(op, path, err)
}

// Remove implements [host.Host].
func (h *Host) Remove(path string) error {
	return h.remove(path, func(e entry.Entry) error { return e.Remove(nil) })
}

// RemoveAll implements [host.Host].
func (h *Host) RemoveAll(path string) error { return h.remove(path, entry.Entry.RemoveAll) }

func (h *Host) remove(path string, act func(entry.Entry) error) error {
	e, err := h.entry(path)
	if err != nil {
		return descriptor.PathError("remove", path, descriptor.Ignore(err, unix.ENOENT, unix.ENOTDIR))
	}
	defer e.Close()
	return descriptor.PathError("remove", path, act(e))
}
