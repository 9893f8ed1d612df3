package linux

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/fettle-dev/fettle/internal/host"
)

func (a as) Lookup(path string, links host.Links) (n host.Handle, err error) {
	err = a.try(func() error { n, err = a.Host.Lookup(path, links); return err })
	return a.handle(n, err)
}

func (a as) LookupParent(path string, links host.Links) (dir host.Handle, name string, err error) {
	err = a.try(func() error { dir, name, err = a.Host.LookupParent(path, links); return err })
	dir, err = a.handle(dir, err)
	return dir, name, err
}

func (a as) Edit(path string, links host.Links) (n host.WritableHandle, err error) {
	err = a.try(func() error { n, err = a.Host.Edit(path, links); return err })
	return a.writable(n, err)
}

func (a as) EditParent(path string, links host.Links) (dir host.WritableHandle, name string, err error) {
	err = a.try(func() error { dir, name, err = a.Host.EditParent(path, links); return err })
	dir, err = a.writable(dir, err)
	return dir, name, err
}

func (a as) handle(n host.Handle, err error) (host.Handle, error) {
	if err != nil {
		return nil, err
	}
	return handleAs{n, a}, nil
}

func (a as) writable(n host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	return writableAs{handleAs{n, a}, n}, nil
}

// A handleAs is looked at as the user too: that one may have been let as far as to see it.
type handleAs struct {
	host.Handle
	as as
}

func (n handleAs) Open() (f io.ReadCloser, err error) {
	err = n.as.try(func() error { f, err = n.Handle.Open(); return err })
	return f, err
}

func (n handleAs) Readlink() (text string, err error) {
	err = n.as.try(func() error { text, err = n.Handle.Readlink(); return err })
	return text, err
}

func (n handleAs) Xattr(name string) (value []byte, err error) {
	err = n.as.try(func() error { value, err = n.Handle.Xattr(name); return err })
	return value, err
}

func (n handleAs) ReadDir() (names []string, err error) {
	err = n.as.try(func() error { names, err = n.Handle.ReadDir(); return err })
	return names, err
}

func (n handleAs) Child(name string) (child host.Handle, err error) {
	err = n.as.try(func() error { child, err = n.Handle.Child(name); return err })
	return n.as.handle(child, err)
}

// A writableAs is changed as the user.
type writableAs struct {
	handleAs
	w host.WritableHandle
}

func (n writableAs) Chown(uid, gid int) error {
	return n.as.try(func() error { return n.w.Chown(uid, gid) })
}

func (n writableAs) Chmod(mode uint32) error {
	return n.as.try(func() error { return n.w.Chmod(mode) })
}

func (n writableAs) SetXattr(name string, value []byte) error {
	return n.as.try(func() error { return n.w.SetXattr(name, value) })
}

func (n writableAs) Edit(name string) (child host.WritableHandle, err error) {
	err = n.as.try(func() error { child, err = n.w.Edit(name); return err })
	return n.as.writable(child, err)
}

func (n writableAs) WriteFile(ctx context.Context, name string, f host.NewFile) (sum [sha256.Size]byte, err error) {
	err = n.as.try(func() error { sum, err = n.w.WriteFile(ctx, name, n.as.owned(f)); return err })
	return sum, err
}

func (n writableAs) Mkdir(name string, mode uint32) (made host.WritableHandle, err error) {
	err = n.as.try(func() error { made, err = n.w.Mkdir(name, mode); return err })
	return n.as.writable(made, err)
}

func (n writableAs) Symlink(text, name string) (made host.WritableHandle, err error) {
	err = n.as.try(func() error { made, err = n.w.Symlink(text, name); return err })
	return n.as.writable(made, err)
}

func (n writableAs) Remove(name string, was *host.FileInfo) error {
	return n.as.try(func() error { return n.w.Remove(name, was) })
}

func (n writableAs) RemoveAll(name string) error {
	return n.as.try(func() error { return n.w.RemoveAll(name) })
}
