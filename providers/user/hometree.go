package user

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// userdel removes a home before it looks at what is in it: it empties file systems that are mounted there, and stops half-way at a file
// that can't be removed. So the whole tree is looked at before.

// irremovableTree returns an error if userdel would remove what is not in the home, or could not remove all of it.
func irremovableTree(h host.Reader, is attributes, users accounts.Users) error {
	home := path.Clean(*is.Home)
	parent, _, err := h.LookupParent(home, host.Links{Follow: host.FollowAll})
	if err != nil {
		return fmt.Errorf("cannot look at the home: %w", err)
	}
	defer parent.Close()
	top, err := h.Lookup(home, host.Links{Follow: host.FollowAll})
	if err != nil {
		return fmt.Errorf("cannot look at the home: %w", err)
	}
	defer top.Close()
	t := homeTree{is: is, home: home, top: top, others: homesByFile(h, users, is.Name)}
	if err := t.checkProtection(parent); err != nil {
		return err
	}
	return t.check(".")
}

// A fileID identifies a directory, whatever path leads to it.
type fileID struct{ dev, ino uint64 }

func homesByFile(h host.Reader, users accounts.Users, except string) map[fileID]string {
	homes := map[fileID]string{}
	for _, u := range users {
		if info, err := h.Stat(u.Home); err == nil && u.Name != except {
			homes[fileID{info.Dev, info.Ino}] = u.Name
		}
	}
	return homes
}

// A homeTree is the home of a user who is to be removed. It is opened once, and files are opened from there, through no symlink.
type homeTree struct {
	is     attributes
	home   string
	top    host.Handle
	others map[fileID]string // the users with these homes
	names  host.Names
}

// check returns an error if userdel must not or can't remove a file, by its path relative to the home, or one below it.
func (t *homeTree) check(name string) error {
	names, err := t.checkFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed a moment ago
	}
	if err != nil {
		return err
	}
	release, err := t.names.Hold(names)
	if err != nil {
		return fmt.Errorf("cannot look into %s: %w", path.Join(t.home, name), err)
	}
	defer release()
	for _, child := range names {
		if err := t.check(path.Join(name, child)); err != nil {
			return err
		}
	}
	return nil
}

// checkFile is check for the file itself. It returns the names in a directory.
func (t *homeTree) checkFile(name string) (names []string, err error) {
	file := t.top
	if name != "." {
		if file, err = t.top.Child(name); err != nil {
			return nil, fmt.Errorf("cannot look into the home: %w", err)
		}
		defer file.Close()
	}
	mounted, err := file.Mounted()
	if err != nil {
		return nil, err
	}
	if mounted {
		return nil, keptHome(t.is, "%s is a mount point, and userdel would remove what is mounted: unmount it first, or remove manageHome", file.Path())
	}
	if other, ok := t.others[fileID{file.Info().Dev, file.Info().Ino}]; ok {
		return nil, othersHome(t.is, other)
	}
	if err = t.checkProtection(file); err != nil || !file.Info().IsDir() {
		return nil, err
	}
	return file.ReadDir()
}

// checkProtection returns an error if not even root can remove a file, or what is in a directory.
func (t *homeTree) checkProtection(file host.Handle) error {
	why, err := file.Protection()
	if why != "" {
		return keptHome(t.is, "%s %s, or remove manageHome", file.Path(), why)
	}
	return err
}
