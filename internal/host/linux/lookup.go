package linux

import (
	"errors"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// Lookup implements [host.Reader].
func (h *Host) Lookup(path string, links host.Links) (host.Handle, error) {
	f, err := h.root.Lookup(path, links)
	if err != nil {
		return nil, descriptor.LookupError(path, err)
	}
	return &handle{h, f}, nil
}

// LookupParent implements [host.Reader].
func (h *Host) LookupParent(path string, links host.Links) (host.Handle, string, error) {
	dir, base, err := h.root.Parent(path, links)
	if err != nil {
		return nil, "", descriptor.LookupError(path, err)
	}
	return &handle{h, dir}, base, nil
}

// Edit implements [host.Host].
func (h *Host) Edit(path string, links host.Links) (host.WritableHandle, error) {
	dir, base, err := h.root.Parent(path, links)
	if err != nil {
		return nil, descriptor.LookupError(path, err)
	}
	w, err := h.edit(dir, base, path)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, descriptor.LookupError(path, err)
	}
	return w, nil
}

// EditParent implements [host.Host].
func (h *Host) EditParent(path string, links host.Links) (host.WritableHandle, string, error) {
	dir, base, err := h.root.Parent(path, links)
	if err != nil {
		return nil, "", descriptor.LookupError(path, err)
	}
	return writable{handle: &handle{h, dir}}, base, nil
}
