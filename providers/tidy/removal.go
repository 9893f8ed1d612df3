package tidy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A removed is a path that is to go.
type removed struct {
	Path   string
	Ensure string
	keep   bool // in the bucket
}

// removal is the resource of a path that is to go. It is told as a File, and unlike one
// goes through no symlink, and takes no directory that is not empty.
func removal(p string, want Attributes) (resource.Resource, error) {
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
	return t.Of(resource.FoundRef("File", p), removed{Path: p, Ensure: resource.Absent, keep: keep})
}

type remover struct{}

func (remover) Name() string { return "posix" }

func (remover) Suits(resource.Facts, host.Reader) error { return nil }

func (remover) Read(_ context.Context, h host.Reader, want removed) (removed, error) {
	info, err := h.LookStraight().Lstat(want.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return removed{Path: want.Path, Ensure: resource.Absent}, nil
	}
	is := removed{Path: want.Path, Ensure: "file"}
	switch {
	case info.IsDir():
		is.Ensure = "directory"
	case info.IsSymlink():
		is.Ensure = "link"
	}
	return is, err
}

func (remover) Write(ctx context.Context, h host.Host, _, want removed, _ []resource.Change) error {
	straight := h.ActStraight()
	if want.keep {
		if err := save(ctx, h, straight, want.Path); err != nil {
			return fmt.Errorf("cannot back up %s; will not remove it: %w", want.Path, err)
		}
	}
	return straight.Remove(want.Path)
}

// save keeps what a file holds; of anything else there is nothing to keep.
func save(ctx context.Context, h host.Host, from host.Reader, file string) error {
	info, err := from.Lstat(file)
	if err != nil || !info.IsRegular() {
		return err
	}
	return bucket.Of(ctx, h).Backup(ctx, from, file)
}
