package walk

import (
	"errors"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// A Side is one of the two directories of a walk. It is opened once. Its entries are opened
// from it and through no symlink, unless links are followed: then each one is judged like
// those on the way to the directory. The zero Side does not exist.
type Side struct {
	host    host.Reader
	top     host.Handle // nil if the directory does not exist
	tree    host.Tree
	follows bool
}

// NewSide returns the side of an opened directory and the place of its entries. top is nil
// if the directory does not exist. The walk closes it.
func NewSide(h host.Reader, top host.Handle, tree host.Tree, followLinks bool) Side {
	return Side{h, top, tree, followLinks}
}

func (s Side) close() {
	if s.top != nil {
		_ = s.top.Close()
	}
}

func (s Side) exists() bool { return s.top != nil }

// path returns the path of an entry, whose name is relative to the directory.
func (s Side) path(name string) string { return path.Join(s.tree.Path, name) }

// spot returns the spot of an entry; nil if links are followed, so that only its path
// leads there.
func (s Side) spot(name string) *entry.Spot {
	if s.follows {
		return nil
	}
	return &entry.Spot{Tree: s.tree, Name: name}
}

// open opens an entry, and a symlink itself.
func (s Side) open(name string) (host.Handle, error) {
	switch {
	case s.top == nil:
		return nil, fs.ErrNotExist
	case s.follows:
		return s.host.Lookup(s.path(name), host.Links{})
	}
	return s.top.Child(name)
}

// dirOf opens the directory of an entry.
func (s Side) dirOf(name string) (host.Handle, error) {
	switch dir := path.Dir(name); {
	case s.follows:
		return s.host.Lookup(path.Dir(s.path(name)), host.Links{AtEnd: true})
	case dir == ".":
		return s.tree.Lookup(s.host, ".")
	default:
		return s.top.Child(dir)
	}
}

// openTarget opens an entry, or the target of a symlink if links are followed.
func (s Side) openTarget(name string) (host.Handle, error) {
	if s.follows {
		return s.host.Lookup(s.path(name), host.Links{AtEnd: true})
	}
	return s.open(name)
}

// info describes an entry, and a symlink itself.
func (s Side) info(name string) (info host.FileInfo, err error) {
	file, err := s.open(name)
	if err != nil {
		return info, err
	}
	return file.Info(), file.Close()
}

func (s Side) mounted(name string) (bool, error) {
	file, err := s.open(name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer file.Close()
	return file.Mounted()
}

// names lists a directory; "." is the whole one.
func (s Side) names(dir string) ([]string, error) {
	if s.top == nil {
		return nil, nil
	}
	if dir == "." {
		return s.top.ReadDir()
	}
	file, err := s.openTarget(dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.ReadDir()
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
