package guard

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/fettle-dev/fettle/internal/host"
)

// A handle refuses files below it.
type handle struct {
	host.Handle
	rules
}

// handle returns a handle unless its file is refused.
func (r rules) handle(n host.Handle, err error) (host.Handle, error) {
	if err != nil {
		return nil, err
	}
	if err := r.admit(n.Path(), n.Info()); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return handle{n, r}, nil
}

// Open implements [host.Handle].
func (n handle) Open() (io.ReadCloser, error) {
	f, err := n.Handle.Open()
	if err != nil || n.simulation == nil {
		return f, err
	}
	return stream{f, n.simulation}, nil
}

// ReadDir implements [host.Handle].
func (n handle) ReadDir() ([]string, error) { return n.listed(n.Handle) }

// Child implements [host.Handle].
func (n handle) Child(name string) (host.Handle, error) { return n.handle(n.Handle.Child(name)) }

// RemovalRefusal implements [host.Handle].
func (n handle) RemovalRefusal(read func(names int) error) error {
	if err := n.requireNoneBelow(n.Path(), n.Info()); err != nil {
		return err
	}
	return n.Handle.RemovalRefusal(func(names int) error {
		err := cmp.Or(n.check(), read(names))
		if err == nil && n.simulation != nil {
			err = n.spend(&n.left.names, int64(names))
		}
		return err
	})
}

// A writable refuses changes of files below it.
type writable struct {
	handle
	w host.WritableHandle
}

// writable returns a handle unless its file is refused.
func (r rules) writable(n host.WritableHandle, err error) (host.WritableHandle, error) {
	if err != nil {
		return nil, err
	}
	if err := r.files.Refuse(n.Path(), n.Info()); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return writable{handle{n, r}, n}, nil
}

// refuseOwn returns an error if a name in the directory refers to a refused file.
func (n writable) refuseOwn(name string) error {
	child, err := n.Child(name)
	if err != nil {
		return ignoreMissing(err)
	}
	return errors.Join(n.files.Refuse(child.Path(), child.Info()), child.Close())
}

// refuseOwnBelow returns an error if a directory has refused files below it.
func (n writable) refuseOwnBelow(name string) error {
	child, err := n.Child(name)
	if err != nil {
		return ignoreMissing(err)
	}
	return errors.Join(n.requireNoneBelow(child.Path(), child.Info()), child.Close())
}

// Edit implements [host.WritableHandle].
func (n writable) Edit(name string) (host.WritableHandle, error) { return n.writable(n.w.Edit(name)) }

// Chown implements [host.WritableHandle].
func (n writable) Chown(uid, gid int) error { return n.w.Chown(uid, gid) }

// Chmod implements [host.WritableHandle].
func (n writable) Chmod(mode uint32) error { return n.w.Chmod(mode) }

// SetXattr implements [host.WritableHandle].
func (n writable) SetXattr(name string, value []byte) error { return n.w.SetXattr(name, value) }

// WriteFile implements [host.WritableHandle].
func (n writable) WriteFile(ctx context.Context, name string, f host.NewFile) (sum [32]byte, err error) {
	if err := n.refuseOwn(name); err != nil {
		return sum, err
	}
	return n.w.WriteFile(ctx, name, f)
}

// Mkdir implements [host.WritableHandle].
func (n writable) Mkdir(name string, mode uint32) (host.WritableHandle, error) {
	return n.writable(n.w.Mkdir(name, mode))
}

// Symlink implements [host.WritableHandle].
func (n writable) Symlink(text, name string) (host.WritableHandle, error) {
	if err := n.refuseOwn(name); err != nil {
		return nil, err
	}
	return n.writable(n.w.Symlink(text, name))
}

// Remove implements [host.WritableHandle].
func (n writable) Remove(name string, was *host.FileInfo) error {
	if err := n.refuseOwn(name); err != nil {
		return err
	}
	return n.w.Remove(name, was)
}

// RemoveAll implements [host.WritableHandle].
func (n writable) RemoveAll(name string) error {
	if err := n.refuseOwnBelow(name); err != nil {
		return err
	}
	return n.w.RemoveAll(name)
}
