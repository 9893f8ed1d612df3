package host

import (
	"errors"
	"fmt"
	"path"
)

// A Tree is a directory that was walked. Files that the walk found are opened again by their paths relative to the
// directory, in the same directory and without following symlinks.
type Tree struct {
	Path  string
	Links Links    // by which Path is opened
	Top   FileInfo // of the directory when it was walked
}

// Lookup opens a file by its relative path in the tree, "." for the directory itself. The error
// is ErrChanged if another directory is at Path by now.
func (t Tree) Lookup(h Reader, name string) (Handle, error) {
	top, err := h.Lookup(t.Path, t.Links)
	if err != nil {
		return nil, err
	}
	if err := t.check(top); err != nil {
		return nil, errors.Join(err, top.Close())
	}
	if path.Clean(name) == "." {
		return top, nil
	}
	child, err := top.Child(name)
	if err = errors.Join(err, top.Close()); err != nil {
		return nil, err
	}
	return child, nil
}

// EditParent opens the directory of a relative path in the tree, and returns the name in it. The path must not be
// the parent of the tree itself.
func (t Tree) EditParent(h Host, name string) (dir WritableHandle, base string, err error) {
	top, err := h.Edit(t.Path, t.Links)
	if err != nil {
		return nil, "", err
	}
	if err := t.check(top); err != nil {
		return nil, "", errors.Join(err, top.Close())
	}
	up, base := path.Split(path.Clean(name))
	if up == "" {
		return top, base, nil
	}
	dir, err = top.Edit(path.Clean(up))
	if err = errors.Join(err, top.Close()); err != nil {
		return nil, "", err
	}
	return dir, base, nil
}

func (t Tree) check(top Handle) error {
	if !top.Info().SameFile(t.Top) {
		return fmt.Errorf("%s is a different directory now: %w", t.Path, ErrChanged)
	}
	return nil
}
