package guard

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/own"
)

// A guarded host refuses Fettle's own files.
type guarded struct {
	reader
	h host.Host
}

// ignoreMissing returns err unless it says that a file is missing.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// requireNoneBelow returns an error if a directory has some of the refused files.
func (r rules) requireNoneBelow(path string, info host.FileInfo) error {
	if r.files.Below(info) {
		return &own.Error{Path: path, Below: true}
	}
	return nil
}

// refuseOwn returns an error if a path refers to a refused file, or would be in a refused directory.
func (g guarded) refuseOwn(name string) error {
	info, err := g.Lstat(name)
	if err == nil {
		err = g.files.Refuse(name, info)
	}
	_, above := g.Stat(path.Dir(path.Clean(name)))
	return cmp.Or(ignoreMissing(err), ignoreMissing(above))
}

// Edit implements [host.Host].
func (g guarded) Edit(path string, links host.Links) (host.WritableHandle, error) {
	return g.writable(g.h.Edit(path, links))
}

// EditParent implements [host.Host].
func (g guarded) EditParent(path string, links host.Links) (host.WritableHandle, string, error) {
	dir, name, err := g.h.EditParent(path, links)
	dir, err = g.writable(dir, err)
	return dir, name, err
}

// WriteFile implements [host.Host].
func (g guarded) WriteFile(ctx context.Context, path string, f host.NewFile) (sum [32]byte, err error) {
	if err := g.refuseOwn(path); err != nil {
		return sum, err
	}
	return g.h.WriteFile(ctx, path, f)
}

// Mkdir implements [host.Host].
func (g guarded) Mkdir(path string, mode uint32) error {
	if err := g.refuseOwn(path); err != nil {
		return err
	}
	return g.h.Mkdir(path, mode)
}

// Symlink implements [host.Host].
func (g guarded) Symlink(text, path string) error {
	if err := g.refuseOwn(path); err != nil {
		return err
	}
	return g.h.Symlink(text, path)
}

// Remove implements [host.Host].
func (g guarded) Remove(path string) error {
	if err := g.refuseOwn(path); err != nil {
		return err
	}
	return g.h.Remove(path)
}

// RemoveAll implements [host.Host].
func (g guarded) RemoveAll(path string) error {
	if err := g.refuseOwn(path); err != nil {
		return err
	}
	if info, err := g.Lstat(path); err == nil {
		if err := g.requireNoneBelow(path, info); err != nil {
			return err
		}
	}
	return g.h.RemoveAll(path)
}

// Run implements [host.Host].
func (g guarded) Run(ctx context.Context, cmd host.Cmd) (host.Result, error) {
	return g.h.Run(ctx, cmd)
}

// Resume implements [host.Host].
func (g guarded) Resume(ctx context.Context, owner string) (*host.Resumed, error) {
	return g.h.Resume(ctx, owner)
}

// ActAs implements [host.Host].
func (g guarded) ActAs(who host.Credentials) host.Host { return Host(g.h.ActAs(who), g.files) }
