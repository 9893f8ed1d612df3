package localuser_test

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/fettle-dev/fettle/internal/host"
)

// A hostileHost lets the user act before each step that looks at or changes files.
type hostileHost struct {
	host.Host
	user *hostile
}

func (h hostileHost) Open(p string) (io.ReadCloser, error) {
	h.user.before("open", p)
	return h.Host.Open(p)
}

func (h hostileHost) Stat(p string) (host.FileInfo, error) {
	h.user.before("stat", p)
	return h.Host.Stat(p)
}

func (h hostileHost) Lookup(p string, links host.Links) (host.Handle, error) {
	h.user.before("lookup", p)
	f, err := h.Host.Lookup(p, links)
	return h.handle(f, err)
}

func (h hostileHost) LookupParent(p string, links host.Links) (host.Handle, string, error) {
	h.user.before("lookup parent", p)
	f, name, err := h.Host.LookupParent(p, links)
	f, err = h.handle(f, err)
	return f, name, err
}

func (h hostileHost) Edit(p string, links host.Links) (host.WritableHandle, error) {
	h.user.before("edit", p)
	f, err := h.Host.Edit(p, links)
	return h.writable(f, err)
}

func (h hostileHost) EditParent(p string, links host.Links) (host.WritableHandle, string, error) {
	h.user.before("edit parent", p)
	f, name, err := h.Host.EditParent(p, links)
	f, err = h.writable(f, err)
	return f, name, err
}

func (h hostileHost) WriteFile(ctx context.Context, p string, f host.NewFile) ([sha256.Size]byte, error) {
	h.user.before("write", p)
	return h.Host.WriteFile(ctx, p, f)
}

func (h hostileHost) LookAs(who host.Credentials) host.Reader {
	h.user.before("look as", "")
	return h.Host.LookAs(who)
}

func (h hostileHost) ActAs(who host.Credentials) host.Host {
	return hostileHost{h.Host.ActAs(who), h.user}
}

func (h hostileHost) handle(f host.Handle, err error) (host.Handle, error) {
	if err != nil {
		return nil, err
	}
	return hostileHandle{f, h}, nil
}

func (h hostileHost) writable(f host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	return hostileWritable{f, h}, nil
}

// A hostileHandle is a file that a hostileHost opened.
type hostileHandle struct {
	host.Handle
	h hostileHost
}

func (f hostileHandle) Open() (io.ReadCloser, error) {
	f.h.user.before("read", f.Path())
	return f.Handle.Open()
}

func (f hostileHandle) ReadDir() ([]string, error) {
	f.h.user.before("list", f.Path())
	return f.Handle.ReadDir()
}

func (f hostileHandle) Child(name string) (host.Handle, error) {
	f.h.user.before("child", f.Path()+"/"+name)
	child, err := f.Handle.Child(name)
	return f.h.handle(child, err)
}

func (f hostileHandle) OnlyRootWrites() (bool, error) {
	f.h.user.before("trust", f.Path())
	return f.Handle.OnlyRootWrites()
}

// A hostileWritable is a file that is to be changed.
type hostileWritable struct {
	host.WritableHandle
	h hostileHost
}

func (f hostileWritable) Open() (io.ReadCloser, error) {
	f.h.user.before("read", f.Path())
	return f.WritableHandle.Open()
}

func (f hostileWritable) ReadDir() ([]string, error) {
	f.h.user.before("list", f.Path())
	return f.WritableHandle.ReadDir()
}

func (f hostileWritable) Child(name string) (host.Handle, error) {
	f.h.user.before("child", f.Path()+"/"+name)
	child, err := f.WritableHandle.Child(name)
	return f.h.handle(child, err)
}

func (f hostileWritable) Edit(name string) (host.WritableHandle, error) {
	f.h.user.before("edit", f.Path()+"/"+name)
	child, err := f.WritableHandle.Edit(name)
	return f.h.writable(child, err)
}

func (f hostileWritable) Chown(uid, gid int) error {
	f.h.user.before("chown", f.Path())
	return f.WritableHandle.Chown(uid, gid)
}

func (f hostileWritable) Chmod(mode uint32) error {
	f.h.user.before("chmod", f.Path())
	return f.WritableHandle.Chmod(mode)
}

func (f hostileWritable) WriteFile(ctx context.Context, name string, n host.NewFile) ([sha256.Size]byte, error) {
	f.h.user.before("write", f.Path()+"/"+name)
	if check := n.Check; check != nil {
		n.Check = func(ctx context.Context, staged string) error {
			f.h.user.before("commit", f.Path()+"/"+name)
			return check(ctx, staged)
		}
	}
	return f.WritableHandle.WriteFile(ctx, name, n)
}

func (f hostileWritable) Mkdir(name string, mode uint32) (host.WritableHandle, error) {
	f.h.user.before("mkdir", f.Path()+"/"+name)
	made, err := f.WritableHandle.Mkdir(name, mode)
	return f.h.writable(made, err)
}

func (f hostileWritable) Symlink(text, name string) (host.WritableHandle, error) {
	f.h.user.before("symlink", f.Path()+"/"+name)
	made, err := f.WritableHandle.Symlink(text, name)
	return f.h.writable(made, err)
}

func (f hostileWritable) Remove(name string, was *host.FileInfo) error {
	f.h.user.before("remove", f.Path()+"/"+name)
	return f.WritableHandle.Remove(name, was)
}

func (f hostileWritable) RemoveAll(name string) error {
	f.h.user.before("remove all", f.Path()+"/"+name)
	return f.WritableHandle.RemoveAll(name)
}
