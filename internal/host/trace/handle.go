package trace

import (
	"context"
	"crypto/sha256"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// Edit implements [host.Host].
func (t traced) Edit(path string, links host.Links) (host.WritableHandle, error) {
	return t.handle(t.Host.Edit(path, links))
}

// EditParent implements [host.Host].
func (t traced) EditParent(path string, links host.Links) (host.WritableHandle, string, error) {
	n, name, err := t.Host.EditParent(path, links)
	dir, err := t.handle(n, err)
	return dir, name, err
}

func (t tracer) handle(n host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	return handle{n, t}, nil
}

// A handle logs changes.
type handle struct {
	host.WritableHandle
	tracer
}

func (n handle) Edit(name string) (host.WritableHandle, error) {
	return n.handle(n.WritableHandle.Edit(name))
}

func (n handle) WriteFile(ctx context.Context, name string, f host.NewFile) ([sha256.Size]byte, error) {
	sum, err := n.WritableHandle.WriteFile(ctx, name, f)
	n.logChange("wrote", name, err)
	return sum, err
}

func (n handle) Mkdir(name string, mode uint32) (host.WritableHandle, error) {
	made, err := n.WritableHandle.Mkdir(name, mode)
	n.logChange("made directory", name, err)
	return n.handle(made, err)
}

func (n handle) Symlink(text, name string) (host.WritableHandle, error) {
	made, err := n.WritableHandle.Symlink(text, name)
	n.logChange("made symlink", name, err)
	return n.handle(made, err)
}

func (n handle) Remove(name string, was *host.FileInfo) error {
	err := n.WritableHandle.Remove(name, was)
	n.logChange("removed", name, err)
	return err
}

func (n handle) RemoveAll(name string) error {
	err := n.WritableHandle.RemoveAll(name)
	n.logChange("removed all of", name, err)
	return err
}

func (n handle) logChange(what, name string, err error) {
	n.tracer.logChange(what, path.Join(n.Path(), name), err)
}

func (n handle) Chown(uid, gid int) error {
	err := n.WritableHandle.Chown(uid, gid)
	n.tracer.logChange("changed owner or group of", n.Path(), err)
	return err
}

func (n handle) Chmod(mode uint32) error {
	err := n.WritableHandle.Chmod(mode)
	n.tracer.logChange("changed mode of", n.Path(), err)
	return err
}

func (n handle) SetXattr(name string, value []byte) error {
	err := n.WritableHandle.SetXattr(name, value)
	n.tracer.logChange("changed attribute "+name+" of", n.Path(), err)
	return err
}
