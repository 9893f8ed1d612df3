// Package entry opens the directory entry that a File manages, through no symlink that a user
// could have put in its way, and determines the entry's kind.
package entry

import (
	"errors"
	"fmt"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Place is where an entry is.
type Place struct {
	Path string
	// Links says which symlinks on the way to Path are followed.
	Links host.Links
	// Home returns the home directory whose owner's symlinks are followed too. It is called only if
	// such a symlink is in the way; nil if there is none.
	Home func() *host.Home
	// Spot is the place where a recursion found the entry, which is opened only there. Optional.
	Spot *Spot
}

// A Spot is an entry of a directory tree that is managed recursively or copied.
type Spot struct {
	Tree host.Tree
	Name string // relative to the tree
}

// Lookup opens the entry.
func (s Spot) Lookup(h host.Reader) (host.Handle, error) { return s.Tree.Lookup(h, s.Name) }

// LookupParent opens the directory that the entry is in.
func (s Spot) LookupParent(h host.Reader) (host.Handle, error) {
	return s.Tree.Lookup(h, path.Dir(s.Name))
}

// Lookup opens the entry.
func (p Place) Lookup(h host.Reader) (file host.Handle, err error) {
	if p.Spot != nil {
		return p.Spot.Lookup(h)
	}
	err = p.follow(func(links host.Links) error {
		file, err = h.Lookup(p.Path, links)
		return err
	})
	return file, err
}

// LookupParent opens the directory that the entry is in, and returns the name of the entry there.
func (p Place) LookupParent(h host.Reader) (dir host.Handle, name string, err error) {
	if p.Spot != nil {
		dir, err = p.Spot.LookupParent(h)
		return dir, path.Base(p.Spot.Name), err
	}
	err = p.follow(func(links host.Links) error {
		dir, name, err = h.LookupParent(p.Path, links)
		return err
	})
	return dir, name, err
}

// EditParent opens that directory for a change, and returns the name of the entry in it.
func (p Place) EditParent(h host.Host) (dir host.WritableHandle, name string, err error) {
	if p.Spot != nil {
		return p.Spot.Tree.EditParent(h, p.Spot.Name)
	}
	err = p.follow(func(links host.Links) error {
		dir, name, err = h.EditParent(p.Path, links)
		return err
	})
	return dir, name, err
}

// LookupTree opens a directory that is managed recursively, and returns where its entries are
// found again.
func (p Place) LookupTree(h host.Reader) (top host.Handle, tree host.Tree, err error) {
	tree.Path = p.Path
	err = p.follow(func(links host.Links) error {
		tree.Links = links
		top, err = h.Lookup(p.Path, links)
		return err
	})
	if err == nil {
		tree.Top = top.Info()
	}
	return top, tree, err
}

// follow asks for the home directory only if a symlink needs it.
func (p Place) follow(open func(host.Links) error) error {
	links := p.Links
	err := open(links)
	if err == nil || links.Follow != host.FollowRoots {
		return err
	}
	refused := new(host.LinkError)
	if !errors.As(err, &refused) {
		return err
	}
	if p.Home != nil {
		links.Home = p.Home()
	}
	if links.Home != nil {
		err = open(links)
	}
	return Refused(err)
}

// Refused adds the remedies to the error of a symlink that is not followed.
func Refused(err error) error {
	if refused := new(host.LinkError); errors.As(err, &refused) {
		return fmt.Errorf("%w; use a path without it, or set followParentLinks: true to follow it wherever it leads", err)
	}
	return err
}
