package tidy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A place is where a walk found a file.
type place struct {
	tree host.Tree
	name string // relative to the tree; "." for the path of the Tidy itself
	was  host.FileInfo
}

func (p place) path() string { return path.Join(p.tree.Path, p.name) }

func (p place) lookup(h host.Reader) (host.Handle, error) {
	if p.name == "." {
		return h.Lookup(p.tree.Path, p.tree.Links)
	}
	return p.tree.Lookup(h, p.name)
}

func (p place) lookupParent(h host.Reader) (host.Handle, error) {
	if p.name == "." {
		dir, _, err := h.LookupParent(p.tree.Path, p.tree.Links)
		return dir, err
	}
	return p.tree.Lookup(h, path.Dir(p.name))
}

func (p place) editParent(h host.Host) (dir host.WritableHandle, name string, err error) {
	if p.name == "." {
		return h.EditParent(p.tree.Path, p.tree.Links)
	}
	return p.tree.EditParent(h, p.name)
}

// A target is a file to be removed.
type target struct {
	Path   string
	Ensure string
	at     place
	backup bool // to the bucket
}

// removal is the resource that removes a file. It is reported as a File, but it follows no symlink,
// and removes neither a directory that is not empty nor another file in the same place.
func removal(at place, want Attributes) (resource.Resource, error) {
	t := resource.Type[target]{
		Name:      "File",
		Providers: []resource.Provider[target]{remover{}},
		Namevar:   func(r *target) *string { return &r.Path },
		Properties: []resource.Property[target]{{
			Name:    resource.Ensure,
			Managed: func(target) bool { return true },
			InSync:  func(is, want target) bool { return is.Ensure == want.Ensure },
			Show:    func(r target) string { return r.Ensure },
		}},
	}
	backup := ptr.Deref(want.Backup, "") == "Bucket"
	return bound.New(&t, resource.Ref{Kind: "File", Name: at.path()}, target{Path: at.path(), Ensure: resource.Absent, at: at, backup: backup})
}

type remover struct{}

func (remover) Name() string { return "posix" }

func (remover) Suits(resource.Facts, host.Reader) error { return nil }

func (remover) Read(_ context.Context, h resource.Reader, want target) (target, error) {
	file, err := want.at.lookup(h)
	if errors.Is(err, fs.ErrNotExist) {
		return target{Path: want.Path, Ensure: resource.Absent}, nil
	}
	if err != nil {
		return target{}, err
	}
	defer file.Close()
	is := target{Path: want.Path, Ensure: "file"}
	switch info := file.Info(); {
	case info.IsDir():
		is.Ensure = "directory"
	case info.IsSymlink():
		is.Ensure = "link"
	}
	return is, nil
}

// Identify implements [resource.Identifier], as the provider of File does.
func (remover) Identify(_ context.Context, h resource.Reader, wants []target) []string {
	all := make([]string, len(wants))
	for i, want := range wants {
		if dir, err := h.Stat(path.Dir(want.Path)); err == nil {
			all[i] = host.Identity(dir, path.Base(want.Path))
		}
	}
	return all
}

// Precheck implements [resource.Prechecker].
func (remover) Precheck(_ context.Context, h resource.Reader, writes []resource.Write[target]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		if err := w.Want.precheck(h); !errors.Is(err, fs.ErrNotExist) { // it was removed a moment ago
			errs[i] = err
		}
	}
	return errs
}

func (r target) precheck(h resource.Reader) error {
	dir, err := r.at.lookupParent(h)
	if err != nil {
		return err
	}
	defer dir.Close()
	file, err := r.at.lookup(h)
	if err != nil {
		return err
	}
	defer file.Close()
	return errors.Join(r.check(dir, file), r.backupRefused(h, file.Info()))
}

// check returns why the file can't be removed.
func (r target) check(dir, file host.Handle) error {
	return cmp.Or(host.CheckProtection(dir), host.CheckProtection(file))
}

func (r target) backupRefused(h resource.Reader, info host.FileInfo) error {
	if !r.backup || !info.IsRegular() {
		return nil
	}
	return r.notBackedUp(h.FitsBucket(r.Path, info.Size))
}

func (r target) notBackedUp(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot back up %s; will not remove it: %w", r.Path, err)
}

// attempts is the maximum number of attempts if the file is written to meanwhile.
const attempts = 16

func (remover) Write(ctx context.Context, h resource.Writer, _, want target, _ []resource.Change) error {
	dir, name, err := want.at.editParent(h)
	if err != nil {
		return err
	}
	defer dir.Close()
	for range attempts {
		if err = want.remove(ctx, h, dir, name); !errors.Is(err, host.ErrChanged) {
			return err
		}
	}
	return err
}

// remove removes the file that the walk found, or nothing.
func (r target) remove(ctx context.Context, h resource.Writer, dir host.WritableHandle, name string) error {
	file, err := dir.Child(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	is := file.Info()
	if !is.SameFile(r.at.was) {
		return fmt.Errorf("cannot remove %s: another file has replaced it: the next run examines that", r.Path)
	}
	if err := r.check(dir, file); err != nil {
		return err
	}
	if r.backup && is.IsRegular() {
		if err := h.Bucket().Backup(ctx, file, r.Path); err != nil {
			return r.notBackedUp(err)
		}
	}
	return dir.Remove(name, &is)
}
