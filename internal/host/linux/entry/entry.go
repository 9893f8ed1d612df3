// Package entry changes what a name in an open directory stands for.
//
// The directory is held by its descriptor, so a change lands in that directory whatever happens
// to its path. Files and symlinks are staged under a temporary name and renamed into place.
package entry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/removal"
)

// Entries makes and changes the entries of one host. It is safe for concurrent use.
type Entries struct {
	root    int      // descriptor of the root directory
	swept   sync.Map // by descriptor.ID: directories without leftovers
	durable durable
}

// New takes the descriptor of the host's root directory, which must stay open.
func New(root int) *Entries { return &Entries{root: root} }

// An Entry is a name in an open directory.
type Entry struct {
	all  *Entries
	Dir  int // descriptor of the directory, open for reading so that it can be synced
	Base string
	Path string // for messages, and for commands that check a staged file
}

// New makes an entry, which takes ownership of the directory's descriptor.
func (e *Entries) New(dir int, base, path string) Entry {
	return Entry{all: e, Dir: dir, Base: base, Path: path}
}

// Close closes the directory.
func (e Entry) Close() { _ = unix.Close(e.Dir) }

// Write is [host.Host.WriteFile]. prepare is called with the staged file before f.Check;
// f.Prepare is ignored.
func (e Entry) Write(ctx context.Context, f host.NewFile, prepare func(*descriptor.File) error) ([sha256.Size]byte, error) {
	e.sweep()
	sum, err := e.replace(ctx, f, prepare)
	if err == nil {
		err = e.all.durable.sync(e.Dir)
	}
	return sum, err
}

// Remove removes a file, a symlink or an empty directory. With was it removes only that file, unchanged;
// anything else is host.ErrChanged.
func (e Entry) Remove(was *host.FileInfo) error {
	if was != nil {
		if err := e.requireUnchanged(*was); err != nil {
			return err
		}
	}
	return removal.Remove(e.Dir, e.Base)
}

// RemoveAll removes the file and everything below it.
func (e Entry) RemoveAll() error { return removal.RemoveAll(e.Dir, e.Base) }

// Mounted reports whether something is mounted on the name.
func (e Entry) Mounted() (bool, error) { return descriptor.IsMountPoint(e.Dir, e.Base) }

// lstat describes the file with the name. The error is unix.ENOENT if it is missing.
func (e Entry) lstat() (host.FileInfo, error) { return descriptor.Lstat(e.Dir, e.Base) }

// commit renames a staged file to the entry's name.
func (e Entry) commit(temp string) error {
	if err := descriptor.RequireNoMount(e.Dir, e.Base); err != nil {
		return err
	}
	return unix.Renameat(e.Dir, temp, e.Dir, e.Base)
}

// requireUnchanged returns an error unless the name still stands for this file, unchanged, or
// for none if was is the zero value.
func (e Entry) requireUnchanged(was host.FileInfo) error {
	is, err := e.lstat()
	switch {
	case errors.Is(err, unix.ENOENT):
		is, err = host.FileInfo{}, nil
	case err != nil:
		return err
	}
	if !is.Unchanged(was) {
		return host.ErrChanged
	}
	return nil
}

// discard removes a staged file, if there is one.
func (e Entry) discard(temp string) error {
	return descriptor.Ignore(unix.Unlinkat(e.Dir, temp, 0), unix.ENOENT)
}

// tempName is hidden, recognizable and unpredictable. No part of it is chosen by others, because
// commands get it as an argument.
func tempName() string { return ".fettle-" + rand.Text() }
