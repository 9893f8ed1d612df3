package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A spot is a place in a directory that a File manages recursively or copies.
type spot struct {
	tree host.Tree
	name string // relative to the tree
}

// A side is one of the two directories of a walk: the managed one, or its source. The
// directory is opened once. What is below is opened from it and through no symlink, unless
// links are to be followed: then each one is judged as on the way to the directory.
type side struct {
	h       host.Reader
	tree    host.Tree
	top     host.Handle // nil where there is nothing
	follows bool
}

// managedSide is the directory that a File is about. The caller closes it.
func (p posix) managedSide(h resource.Reader, want Attributes) (side, error) {
	s := side{h: h, tree: host.Tree{Path: want.Path}, follows: follows(want)}
	err := p.locate(h, want, func(links host.Links) (err error) {
		s.tree.Links = links
		s.top, err = h.Lookup(want.Path, links)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.top = nil
		return s, nil
	case err != nil:
		return side{}, cannot("look at directory", err)
	}
	s.tree.Top = s.top.Info()
	return s, nil
}

// sourceSide is the directory that a File copies. The caller closes it.
func sourceSide(h host.Reader, want Attributes) (side, error) {
	s := side{h: h, tree: host.Tree{Path: *want.Source, Links: sourceLinks(want)}, follows: follows(want)}
	top, err := lookupSource(h, want)
	if err != nil {
		return side{}, cannot("look at source", err)
	}
	if s.top, s.tree.Top = top, top.Info(); !s.tree.Top.IsDir() {
		err = fmt.Errorf("source %s is a %s, and recurse needs a directory: name one, or remove recurse", *want.Source, kindOf(s.tree.Top))
		return side{}, errors.Join(err, top.Close())
	}
	return s, nil
}

func (s side) close() {
	if s.top != nil {
		_ = s.top.Close()
	}
}

// path of what has a name relative to the directory.
func (s side) path(name string) string { return path.Join(s.tree.Path, name) }

// at is where what has a name is found again; nil where links are followed, so that its path
// has to do.
func (s side) at(name string) *spot {
	if s.follows {
		return nil
	}
	return &spot{s.tree, name}
}

// open opens what has a name, a symlink itself.
func (s side) open(name string) (host.Handle, error) {
	switch {
	case s.top == nil:
		return nil, fs.ErrNotExist
	case s.follows:
		return s.h.Lookup(s.path(name), host.Links{})
	}
	return s.top.Child(name)
}

// openMeant opens what has a name, or what a symlink there leads to if links are followed.
func (s side) openMeant(name string) (host.Handle, error) {
	if s.follows {
		return s.h.Lookup(s.path(name), host.Links{AtEnd: true})
	}
	return s.open(name)
}

// info describes what has a name, a symlink itself.
func (s side) info(name string) (info host.FileInfo, err error) {
	n, err := s.open(name)
	if err != nil {
		return info, err
	}
	return n.Info(), n.Close()
}

func (s side) mounted(name string) (bool, error) {
	n, err := s.open(name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer n.Close()
	return n.Mounted()
}

// names are what is in a directory, "." for the whole one.
func (s side) names(dir string) ([]string, error) {
	if s.top == nil {
		return nil, nil
	}
	if dir == "." {
		return s.top.ReadDir()
	}
	n, err := s.openMeant(dir)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.ReadDir()
}
