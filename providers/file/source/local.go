package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/content"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

func lookLocal(ctx context.Context, h host.Reader, s Source, algorithm string) (Version, error) {
	file, err := lookup(h, s)
	if err != nil {
		return Version{}, err
	}
	defer file.Close()
	info := file.Info()
	switch {
	case !info.IsRegular():
		return Version{}, noContent(s, info)
	case algorithm == content.ByTime:
		return Version{Modified: info.ModTime}, nil
	}
	c, err := content.Read(ctx, file.Open, info.Size, algorithm, "")
	if err != nil {
		return Version{}, err
	}
	return Version{Algorithm: algorithm, Sum: c.Sum, File: &c}, nil
}

func noContent(s Source, info host.FileInfo) error {
	return fmt.Errorf("%s is a %s, and only a file has content to copy", s.Location, entry.KindOf(info))
}

func openLocal(h host.Reader, s Source) (io.ReadCloser, error) {
	file, err := lookup(h, s)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info := file.Info(); !info.IsRegular() {
		return nil, noContent(s, info)
	}
	content, err := file.Open()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{host.BoundedReader(content, file.Info().Size), content}, nil
}

// LookupTree opens a directory to be copied, and returns where its entries are found again.
func LookupTree(h host.Reader, s Source) (host.Handle, host.Tree, error) {
	top, err := lookup(h, s)
	if err != nil {
		return nil, host.Tree{}, cannotLook(err)
	}
	tree := host.Tree{Path: s.Location, Links: s.links(), Top: top.Info()}
	if !tree.Top.IsDir() {
		err := fmt.Errorf("source %s is a %s, and recurse needs a directory: name one, or remove recurse", s.Location, entry.KindOf(tree.Top))
		return nil, tree, errors.Join(err, top.Close())
	}
	return top, tree, nil
}

func (s Source) links() host.Links { return host.Links{Follow: s.Follow, AtEnd: true} }

// lookup opens a source on the host. It rejects symlinks and hard links, by which
// a user could have root read another file.
func lookup(h host.Reader, s Source) (host.Handle, error) {
	if s.Spot != nil {
		file, err := s.Spot.Lookup(h)
		return rejectPlanted(file, err, func() (host.Handle, string, error) {
			dir, err := s.Spot.LookupParent(h)
			return dir, path.Base(s.Spot.Name), err
		})
	}
	file, err := h.Lookup(s.Location, s.links())
	return rejectPlanted(file, entry.Refused(err), func() (host.Handle, string, error) { return h.LookupParent(s.Location, s.links()) })
}

// maxLooks is the maximum number of lookups of a file by its name: while another hard link is being
// removed, it may no longer be counted although its name is still there.
const maxLooks = 32

// rejectPlanted closes and rejects a file that has several hard links in a directory that
// others can write to: one of them may have linked a file there that they can't read.
func rejectPlanted(file host.Handle, err error, parent func() (dir host.Handle, name string, err error)) (host.Handle, error) {
	if err != nil || !file.Info().IsRegular() {
		return file, err
	}
	dir, name, err := parent()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	defer dir.Close()
	only, err := dir.OnlyRootWrites()
	for i := 0; i < maxLooks && !only && err == nil; i++ {
		err = hasOneLink(dir, name, file.Info())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func hasOneLink(dir host.Handle, name string, was host.FileInfo) error {
	file, err := dir.Child(name)
	if errors.Is(err, fs.ErrNotExist) {
		return host.ErrChanged
	}
	if err != nil {
		return err
	}
	defer file.Close()
	switch is := file.Info(); {
	case was.Nlink != 1 || is.Nlink != 1:
		return &host.HardLinkError{Path: file.Path()}
	case !is.SameFile(was):
		return host.ErrChanged
	}
	return nil
}
