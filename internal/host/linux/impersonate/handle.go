package impersonate

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/fettle-dev/fettle/internal/host"
)

func (u user) Lookup(path string, links host.Links) (n host.Handle, err error) {
	err = u.try(func() error { n, err = u.Host.Lookup(path, links); return err })
	return u.handle(n, err)
}

func (u user) LookupParent(path string, links host.Links) (dir host.Handle, name string, err error) {
	err = u.try(func() error { dir, name, err = u.Host.LookupParent(path, links); return err })
	dir, err = u.handle(dir, err)
	return dir, name, err
}

func (u user) Edit(path string, links host.Links) (n host.WritableHandle, err error) {
	err = u.try(func() error { n, err = u.Host.Edit(path, links); return err })
	return u.writable(n, err)
}

func (u user) EditParent(path string, links host.Links) (dir host.WritableHandle, name string, err error) {
	err = u.try(func() error { dir, name, err = u.Host.EditParent(path, links); return err })
	dir, err = u.writable(dir, err)
	return dir, name, err
}

func (u user) handle(n host.Handle, err error) (host.Handle, error) {
	if err != nil {
		return nil, err
	}
	return userHandle{n, u}, nil
}

func (u user) writable(n host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	return userWritable{userHandle{n, u}, n}, nil
}

// A userHandle is looked at as the user too, who may be allowed to see the file but not to read it.
type userHandle struct {
	host.Handle
	as user
}

func (n userHandle) Open() (f io.ReadCloser, err error) {
	err = n.as.try(func() error { f, err = n.Handle.Open(); return err })
	return f, err
}

func (n userHandle) Readlink() (text string, err error) {
	err = n.as.try(func() error { text, err = n.Handle.Readlink(); return err })
	return text, err
}

func (n userHandle) Xattr(name string) (value []byte, err error) {
	err = n.as.try(func() error { value, err = n.Handle.Xattr(name); return err })
	return value, err
}

func (n userHandle) ReadDir() (names []string, err error) {
	err = n.as.try(func() error { names, err = n.Handle.ReadDir(); return err })
	return names, err
}

func (n userHandle) Child(name string) (child host.Handle, err error) {
	err = n.as.try(func() error { child, err = n.Handle.Child(name); return err })
	return n.as.handle(child, err)
}

// A userWritable is a file that the user changes.
type userWritable struct {
	userHandle
	w host.WritableHandle
}

func (n userWritable) Chown(uid, gid int) error {
	return n.as.try(func() error { return n.w.Chown(uid, gid) })
}

func (n userWritable) Chmod(mode uint32) error {
	return n.as.try(func() error { return n.w.Chmod(mode) })
}

func (n userWritable) SetXattr(name string, value []byte) error {
	return n.as.try(func() error { return n.w.SetXattr(name, value) })
}

func (n userWritable) Edit(name string) (child host.WritableHandle, err error) {
	err = n.as.try(func() error { child, err = n.w.Edit(name); return err })
	return n.as.writable(child, err)
}

func (n userWritable) WriteFile(ctx context.Context, name string, f host.NewFile) (sum [sha256.Size]byte, err error) {
	err = n.as.try(func() error { sum, err = n.w.WriteFile(ctx, name, n.as.owned(f)); return err })
	return sum, err
}

func (n userWritable) Mkdir(name string, mode uint32) (made host.WritableHandle, err error) {
	err = n.as.try(func() error { made, err = n.w.Mkdir(name, mode); return err })
	return n.as.writable(made, err)
}

func (n userWritable) Symlink(text, name string) (made host.WritableHandle, err error) {
	err = n.as.try(func() error { made, err = n.w.Symlink(text, name); return err })
	return n.as.writable(made, err)
}

func (n userWritable) Remove(name string, was *host.FileInfo) error {
	return n.as.try(func() error { return n.w.Remove(name, was) })
}

func (n userWritable) RemoveAll(name string) error {
	return n.as.try(func() error { return n.w.RemoveAll(name) })
}
