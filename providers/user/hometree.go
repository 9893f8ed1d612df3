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
// that can't be removed. So does usermod, once it has copied a home to another file system. So the whole tree is looked at before.

// irremovableTree returns an error if userdel would remove what is not in the home, or could not remove all of it.
func irremovableTree(h host.Reader, is attributes, users accounts.Users) error {
	t := homeTree{tool: "userdel", attribute: "manageHome", home: path.Clean(*is.Home), removes: true, others: homesByFile(h, users, is.Name)}
	t.refuse = func(why string) error { return keptHome(is, "%s", why) }
	return t.checkAll(h, path.Dir(t.home))
}

// immovableTree is irremovableTree for usermod, which moves a home to a directory.
func immovableTree(h host.Reader, from, dir string) error {
	source, err := h.Stat(from)
	if err != nil {
		return err
	}
	target, err := h.Stat(dir)
	if err != nil {
		return err
	}
	t := homeTree{tool: "usermod", attribute: "moveHome", home: from, removes: source.Dev != target.Dev}
	t.refuse = func(why string) error { return fmt.Errorf("cannot move the home directory %s: %s", from, why) }
	return t.checkAll(h, path.Dir(from), from, dir)
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

// A homeTree is a home that is to be removed or moved. It is opened once, and files are opened from there, through no symlink.
type homeTree struct {
	tool, attribute string // that remove or move it
	refuse          func(why string) error
	home            string
	removes         bool              // the files, one by one
	others          map[fileID]string // the users with these homes
	top             host.Handle
	names           host.NameBudget
}

// checkDir returns an error if no names can be added to a directory, or removed from it.
func (t *homeTree) checkDir(h host.Reader, dir string) error {
	f, err := h.Lookup(dir, host.Links{Follow: host.FollowAll, AtEnd: true})
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", dir, err)
	}
	defer f.Close()
	return t.checkProtection(f)
}

// checkAll returns an error if the tool must not or can't remove all files of the home, or change the names in some directories.
func (t *homeTree) checkAll(h host.Reader, dirs ...string) (err error) {
	for _, dir := range dirs {
		if err := t.checkDir(h, dir); err != nil {
			return err
		}
	}
	if t.top, err = h.Lookup(t.home, host.Links{Follow: host.FollowAll}); err != nil {
		return fmt.Errorf("cannot look at the home: %w", err)
	}
	defer t.top.Close()
	return t.check(".")
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
	release, err := t.names.Reserve(names)
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
		return nil, t.refuse(fmt.Sprintf("%s is a mount point, and %s would remove what is mounted: unmount it first, or remove %s", file.Path(), t.tool, t.attribute))
	}
	if other, ok := t.others[fileID{file.Info().Dev, file.Info().Ino}]; ok {
		return nil, t.refuse(havingOthers(other))
	}
	if t.removes {
		err = t.checkProtection(file)
	}
	if err != nil || !file.Info().IsDir() {
		return nil, err
	}
	return file.ReadDir()
}

// checkProtection returns an error if not even root can remove a file, or what is in a directory.
func (t *homeTree) checkProtection(file host.Handle) error {
	why, err := file.Protection()
	if why != "" {
		return t.refuse(fmt.Sprintf("%s %s, or remove %s", file.Path(), why, t.attribute))
	}
	return err
}
