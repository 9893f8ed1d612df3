package cli

import (
	"context"
	"crypto/sha256"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// Edit implements [host.Host].
func (t tracedHost) Edit(path string, links host.Links) (host.WritableHandle, error) {
	return t.traced(t.Host.Edit(path, links))
}

// EditParent implements [host.Host].
func (t tracedHost) EditParent(path string, links host.Links) (host.WritableHandle, string, error) {
	n, name, err := t.Host.EditParent(path, links)
	dir, err := t.traced(n, err)
	return dir, name, err
}

func (t tracedHost) traced(n host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	return tracedHandle{n, t}, nil
}

// A tracedHandle tells what is done through it.
type tracedHandle struct {
	host.WritableHandle
	t tracedHost
}

func (n tracedHandle) Edit(name string) (host.WritableHandle, error) {
	return n.t.traced(n.WritableHandle.Edit(name))
}

func (n tracedHandle) WriteFile(ctx context.Context, name string, f host.NewFile) ([sha256.Size]byte, error) {
	sum, err := n.WritableHandle.WriteFile(ctx, name, f)
	n.did("wrote", name, err)
	return sum, err
}

func (n tracedHandle) Mkdir(name string, mode uint32) (host.WritableHandle, error) {
	made, err := n.WritableHandle.Mkdir(name, mode)
	n.did("made directory", name, err)
	return n.t.traced(made, err)
}

func (n tracedHandle) Symlink(text, name string) (host.WritableHandle, error) {
	made, err := n.WritableHandle.Symlink(text, name)
	n.did("made symlink", name, err)
	return n.t.traced(made, err)
}

func (n tracedHandle) Remove(name string, was *host.FileInfo) error {
	err := n.WritableHandle.Remove(name, was)
	n.did("removed", name, err)
	return err
}

func (n tracedHandle) RemoveAll(name string) error {
	err := n.WritableHandle.RemoveAll(name)
	n.did("removed all of", name, err)
	return err
}

func (n tracedHandle) did(what, name string, err error) {
	n.t.did(what, path.Join(n.Path(), name), err)
}
