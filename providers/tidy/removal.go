package tidy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
)

// A place is where a walk has found a file.
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

func (p place) editParent(h host.Host) (dir host.WritableHandle, name string, err error) {
	if p.name == "." {
		return h.EditParent(p.tree.Path, p.tree.Links)
	}
	return p.tree.EditParent(h, p.name)
}

// A removed is a file that is to go.
type removed struct {
	Path   string
	Ensure string
	at     place
	keep   bool // in the bucket
}

// removal is the resource of a file that is to go. It is told as a File, and unlike one
// goes through no symlink, and takes no directory that is not empty and no other file.
func removal(at place, want Attributes) (resource.Resource, error) {
	t := resource.Type[removed]{
		Name:      "File",
		Providers: []resource.Provider[removed]{remover{}},
		Namevar:   func(r *removed) *string { return &r.Path },
		Properties: []resource.Property[removed]{{
			Name:    resource.Ensure,
			Managed: func(removed) bool { return true },
			InSync:  func(is, want removed) bool { return is.Ensure == want.Ensure },
			Show:    func(r removed) string { return r.Ensure },
		}},
	}
	keep := want.Backup != nil && *want.Backup == "Bucket"
	return bound.New(&t, resource.Ref{Kind: "File", Name: at.path()}, removed{Path: at.path(), Ensure: resource.Absent, at: at, keep: keep})
}

type remover struct{}

func (remover) Name() string { return "posix" }

func (remover) Suits(resource.Facts, host.Reader) error { return nil }

func (remover) Read(_ context.Context, h resource.Reader, want removed) (removed, error) {
	file, err := want.at.lookup(h)
	if errors.Is(err, fs.ErrNotExist) {
		return removed{Path: want.Path, Ensure: resource.Absent}, nil
	}
	if err != nil {
		return removed{}, err
	}
	defer file.Close()
	is := removed{Path: want.Path, Ensure: "file"}
	switch info := file.Info(); {
	case info.IsDir():
		is.Ensure = "directory"
	case info.IsSymlink():
		is.Ensure = "link"
	}
	return is, nil
}

// Identify implements [resource.Identifier], as the provider of File does.
func (remover) Identify(_ context.Context, h resource.Reader, wants []removed) []string {
	all := make([]string, len(wants))
	for i, want := range wants {
		if dir, err := h.Stat(path.Dir(want.Path)); err == nil {
			all[i] = host.Identity(dir, path.Base(want.Path))
		}
	}
	return all
}

// attempts is how often a file is tried to be removed that is written to meanwhile.
const attempts = 16

func (remover) Write(ctx context.Context, h resource.Writer, _, want removed, _ []resource.Change) error {
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

// remove removes the file that the walk has seen, or nothing.
func (r removed) remove(ctx context.Context, h resource.Writer, dir host.WritableHandle, name string) error {
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
		return fmt.Errorf("cannot remove %s: another file has that name by now: the next run looks at it", r.Path)
	}
	if r.keep && is.IsRegular() {
		if err := h.Bucket().Backup(ctx, file, r.Path); err != nil {
			return fmt.Errorf("cannot back up %s; will not remove it: %w", r.Path, err)
		}
	}
	return dir.Remove(name, &is)
}
