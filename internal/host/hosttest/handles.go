package hosttest

import (
	"context"
	"crypto/sha256"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// Lookup implements [host.Reader].
func (h *Host) Lookup(path string, links host.Links) (host.Handle, error) {
	n, err := h.files.Lookup(path, links)
	if err != nil {
		return nil, err
	}
	return handle{n, h}, nil
}

// LookupParent implements [host.Reader].
func (h *Host) LookupParent(path string, links host.Links) (host.Handle, string, error) {
	n, name, err := h.files.LookupParent(path, links)
	if err != nil {
		return nil, "", err
	}
	return handle{n, h}, name, nil
}

// Edit implements [host.Host].
func (h *Host) Edit(path string, links host.Links) (host.WritableHandle, error) {
	return h.writable(h.files.Edit(path, links))
}

// EditParent implements [host.Host].
func (h *Host) EditParent(path string, links host.Links) (host.WritableHandle, string, error) {
	n, name, err := h.files.EditParent(path, links)
	dir, err := h.writable(n, err)
	return dir, name, err
}

func (h *Host) writable(n host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	return writable{handle{n, h}, n}, nil
}

// A handle shows the owner that the fake has recorded.
type handle struct {
	host.Handle
	h *Host
}

func (n handle) Info() host.FileInfo { return n.h.owners.shown(n.Handle.Info()) }

func (n handle) Stat() (host.FileInfo, error) {
	info, err := n.Handle.Stat()
	return n.h.owners.shown(info), err
}

func (n handle) Child(name string) (host.Handle, error) {
	child, err := n.Handle.Child(name)
	if err != nil {
		return nil, err
	}
	return handle{child, n.h}, nil
}

// A writable records changes in the transcript, like the methods of [Host].
type writable struct {
	handle
	w host.WritableHandle
}

func (n writable) in(name string) string { return path.Join(n.Path(), name) }

func (n writable) Edit(name string) (host.WritableHandle, error) {
	return n.h.writable(n.w.Edit(name))
}

func (n writable) Chown(uid, gid int) error {
	n.h.record("chown", n.Path(), name(uid), name(gid))
	if n.h.owners.real() {
		return n.w.Chown(uid, gid)
	}
	info, err := n.w.Stat()
	if err == nil {
		shown := n.h.owners.shown(info)
		n.h.owners.set(info, ids{uid, gid}.or(ids{shown.UID, shown.GID}))
	}
	return err
}

func (n writable) Chmod(mode uint32) error {
	n.h.record("chmod", n.Path(), octal(mode))
	return n.w.Chmod(mode)
}

func (n writable) SetXattr(name string, value []byte) error {
	n.h.record("setxattr", n.Path(), name, strings.TrimRight(string(value), "\x00"))
	return n.w.SetXattr(name, value)
}

func (n writable) WriteFile(ctx context.Context, name string, f host.NewFile) ([sha256.Size]byte, error) {
	return n.h.write(n.in(name), f, func(f host.NewFile) ([sha256.Size]byte, error) {
		return n.w.WriteFile(ctx, name, f)
	})
}

func (n writable) Mkdir(name string, mode uint32) (host.WritableHandle, error) {
	n.h.record("mkdir", n.in(name), octal(mode))
	return n.h.made(n.w.Mkdir(name, mode))
}

func (n writable) Symlink(text, name string) (host.WritableHandle, error) {
	n.h.record("symlink", n.in(name), text)
	return n.h.made(n.w.Symlink(text, name))
}

// made records root as the owner of a new file.
func (h *Host) made(n host.WritableHandle, err error) (host.WritableHandle, error) {
	if err == nil {
		h.owners.set(n.Info(), ids{})
	}
	return h.writable(n, err)
}

func (n writable) Remove(name string, was *host.FileInfo) error {
	n.h.record("remove", n.in(name))
	return n.w.Remove(name, was)
}

func (n writable) RemoveAll(name string) error {
	n.h.record("removeall", n.in(name))
	return n.w.RemoveAll(name)
}
