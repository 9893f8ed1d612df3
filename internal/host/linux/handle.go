package linux

import (
	"io"
	"path"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/removal"
	"github.com/fettle-dev/fettle/internal/host/linux/trust"
	"github.com/fettle-dev/fettle/internal/host/linux/xattr"
)

// A handle implements [host.Handle].
type handle struct {
	h *Host
	f *descriptor.File
}

// Close implements [host.Handle].
func (n *handle) Close() error { return n.f.Close() }

// Path implements [host.Handle].
func (n *handle) Path() string { return n.f.Path }

// Info implements [host.Handle].
func (n *handle) Info() host.FileInfo { return n.f.Info }

// Stat implements [host.Handle].
func (n *handle) Stat() (host.FileInfo, error) {
	info, err := descriptor.Stat(n.f.FD)
	return info, n.error("stat", err)
}

// Open implements [host.Handle].
func (n *handle) Open() (io.ReadCloser, error) {
	s, err := descriptor.OpenStream(n.f.FD, n.f.Path, n.f.Info, n.h.patience)
	if err != nil {
		return nil, n.error("open", err)
	}
	return s, nil
}

// Readlink implements [host.Handle].
func (n *handle) Readlink() (string, error) {
	text, err := descriptor.Readlink(n.f.FD)
	return text, n.error("readlink", err)
}

// Xattr implements [host.Handle].
func (n *handle) Xattr(name string) ([]byte, error) {
	value, err := xattr.Get(n.f.FD, name)
	return value, n.error("getxattr", err)
}

// ReadDir implements [host.Handle].
func (n *handle) ReadDir() ([]string, error) {
	fd, err := descriptor.Reopen(n.f.FD, unix.O_RDONLY)
	if err != nil {
		return nil, n.error("open", err)
	}
	names, err := descriptor.Names(fd, n.f.Path)
	return names, n.error("read", err)
}

// Child implements [host.Handle].
func (n *handle) Child(name string) (host.Handle, error) {
	full := path.Join(n.f.Path, name)
	child, err := n.h.root.Beneath(n.f, name, full)
	if err != nil {
		return nil, descriptor.LookupError(full, err)
	}
	return &handle{n.h, child}, nil
}

// Mounted implements [host.Handle].
func (n *handle) Mounted() (bool, error) {
	mounted, err := descriptor.IsMountRoot(n.f.FD)
	return mounted, n.error("look for mount", err)
}

// Protection implements [host.Handle].
func (n *handle) Protection() (string, error) {
	why, err := descriptor.Protection(n.f.FD)
	return why, n.error("look at the attributes of", err)
}

// OnKernelFS implements [host.Handle].
func (n *handle) OnKernelFS() (bool, error) {
	kernels, err := descriptor.OnKernelFS(n.f.FD)
	return kernels, n.error("look at the file system of", err)
}

// OnlyRootWrites implements [host.Handle].
func (n *handle) OnlyRootWrites() (bool, error) {
	only, err := trust.OnlyRootWritesPath(n.h.root.FD, n.f.FD)
	return only, n.error("stat", err)
}

// OnlyRootWrote implements [host.Handle].
func (n *handle) OnlyRootWrote() (bool, error) {
	only, err := trust.OnlyRootWrote(n.f.FD)
	return only, n.error("stat", err)
}

// RemovalRefusal implements [host.Handle].
func (n *handle) RemovalRefusal(read func(names int) error) error {
	return n.error("remove", removal.Check(n.f.FD, read))
}

func (n *handle) error(op string, err error) error { return descriptor.PathError(op, n.f.Path, err) }
