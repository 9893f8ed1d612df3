package host

import (
	"errors"
	"fmt"
	"path"
)

// A Tree is a directory that was walked. What the walk found is opened again by its path
// relative to the directory, in the same directory and through no symlink.
type Tree struct {
	Path  string
	Links Links    // by which Path is opened
	Top   FileInfo // of the directory when it was walked
}

// Lookup opens what has a relative path in the tree, "." for the directory itself. The error
// is ErrChanged when another directory is at Path.
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

// EditParent opens the directory in the tree that has a relative path, which must not be the
// tree itself, and returns the name in it.
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
		return fmt.Errorf("%s is another directory by now: %w", t.Path, ErrChanged)
	}
	return nil
}
