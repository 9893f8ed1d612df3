package file

import (
	"errors"
	"fmt"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// lookup opens what a resource is about.
func (p posix) lookup(h resource.Reader, want Attributes) (n host.Handle, err error) {
	if want.at != nil {
		return want.at.tree.Lookup(h, want.at.name)
	}
	err = p.locate(h, want, func(links host.Links) error {
		n, err = h.Lookup(want.Path, links)
		return err
	})
	return n, err
}

// lookupParent opens the directory of what a resource is about.
func (p posix) lookupParent(h resource.Reader, want Attributes) (dir host.Handle, err error) {
	if want.at != nil {
		return want.at.tree.Lookup(h, path.Dir(want.at.name))
	}
	err = p.locate(h, want, func(links host.Links) error {
		dir, _, err = h.LookupParent(want.Path, links)
		return err
	})
	return dir, err
}

// editParent opens it for a change, and returns the name in it.
func (p posix) editParent(h resource.Writer, want Attributes) (dir host.WritableHandle, name string, err error) {
	if want.at != nil {
		return want.at.tree.EditParent(h, want.at.name)
	}
	err = p.locate(h, want, func(links host.Links) error {
		dir, name, err = h.EditParent(want.Path, links)
		return err
	})
	return dir, name, err
}

// locate looks for the owner's home only where a symlink needs it.
func (p posix) locate(h resource.Reader, want Attributes, open func(host.Links) error) error {
	links := linksTo(want)
	err := open(links)
	if err == nil || links.Follow != host.FollowRoots {
		return err
	}
	refused := new(host.LinkError)
	if !errors.As(err, &refused) {
		return err
	}
	if links.Home = p.ownersHome(h, want); links.Home != nil {
		err = open(links)
	}
	if errors.As(err, &refused) {
		return allowable(err)
	}
	return err
}

// allowable names the ways out of a symlink that is not followed.
func allowable(err error) error {
	return fmt.Errorf("%w; name a path without it, or set followParentLinks: true to follow it wherever it leads", err)
}

// linksTo is which symlinks are followed whoever the owner is.
func linksTo(want Attributes) host.Links {
	links := host.Links{AtEnd: follows(want)}
	if want.FollowParentLinks != nil && *want.FollowParentLinks {
		links.Follow = host.FollowAll
	}
	return links
}

// ownersHome is nil where the resource names no owner, or one whom the host doesn't have yet.
func (p posix) ownersHome(h resource.Reader, want Attributes) *host.Home {
	uid, err := user.resolve(h, p.known, want.Owner)
	if err != nil || uid == unchanged {
		return nil
	}
	all, err := user.read(h, p.known)
	if err != nil {
		return nil
	}
	owner, ok := all.(users).Numbered(int64(uid))
	if want.Owner.StrVal != "" {
		if named, is := all.(users).Named(want.Owner.StrVal); is {
			owner, ok = named, is
		}
	}
	if !ok || owner.Home == "" {
		return nil
	}
	return &host.Home{UID: uid, Dir: owner.Home}
}

// What links can say.
const (
	linksManage = "manage"
	linksFollow = "follow"
)
