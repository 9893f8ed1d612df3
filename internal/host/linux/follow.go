package linux

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// maxLinks is how many symlinks in a row the kernel follows too.
const maxLinks = 40

// A follower resolves a path name by name, each in the directory that was opened before, so
// that each symlink is judged and followed as what it is, not as what its path says.
type follower struct {
	h     *Host
	links host.Links
	dirs  []*handle // from the root down
	rest  []string
	hops  int
	led   string // the symlink of the user of links.Home that was followed last
}

// walkTo is the directory that a path leads to, and the name in it.
func (h *Host) walkTo(name string, links host.Links) (dir *handle, base string, err error) {
	f := follower{h: h, links: links, rest: names(name)}
	defer func() {
		for _, d := range f.dirs {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := f.enter(h.rootFD, ".", "/"); err != nil {
		return nil, "", err
	}
	for base == "" && err == nil {
		base, err = f.step()
	}
	if err == nil {
		err = f.arrived()
	}
	if err != nil {
		return nil, "", err
	}
	dir, f.dirs = f.here(), f.dirs[:len(f.dirs)-1]
	return dir, base, nil
}

func names(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(n string) bool { return n == "" || n == "." })
}

func (f *follower) here() *handle { return f.dirs[len(f.dirs)-1] }

// enter goes into a directory.
func (f *follower) enter(dir int, name, full string) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	n, err := newHandle(f.h, fd, full)
	if err == nil {
		f.dirs = append(f.dirs, n)
	}
	return err
}

// step goes one name further. It returns the last one, "." for the directory itself.
func (f *follower) step() (base string, err error) {
	if len(f.rest) == 0 {
		return ".", nil
	}
	name, last := f.rest[0], len(f.rest) == 1
	f.rest = f.rest[1:]
	switch {
	case name == "..":
		return "", f.leave()
	case last && !f.links.AtEnd:
		return name, nil
	}
	n, err := f.open(name)
	if last && errors.Is(err, unix.ENOENT) {
		return name, nil
	}
	if err != nil {
		return "", err
	}
	if last && !n.info.IsSymlink() {
		return name, n.Close()
	}
	return "", errors.Join(f.pass(n, name), n.Close())
}

// pass goes on by a symlink or a directory.
func (f *follower) pass(n *handle, name string) error {
	if n.info.IsSymlink() {
		return f.follow(n)
	}
	return f.enter(f.here().fd, name, n.path) // opened anew, as that triggers an automount
}

func (f *follower) open(name string) (*handle, error) {
	fd, err := unix.Openat(f.here().fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return newHandle(f.h, fd, path.Join(f.here().path, name))
}

// leave goes one directory up, but not beyond the root.
func (f *follower) leave() error {
	if len(f.dirs) == 1 {
		return nil
	}
	err := f.here().Close()
	f.dirs = f.dirs[:len(f.dirs)-1]
	return err
}

// follow puts what a symlink says in the place of its name.
func (f *follower) follow(link *handle) error {
	if f.hops++; f.hops > maxLinks {
		return fmt.Errorf("more than %d symlinks follow one another", maxLinks)
	}
	if err := f.judge(link); err != nil {
		return err
	}
	text, err := readlink(link.fd)
	if err != nil {
		return err
	}
	for path.IsAbs(text) && len(f.dirs) > 1 && err == nil {
		err = f.leave()
	}
	f.rest = append(names(text), f.rest...)
	return err
}

// judge is why a symlink is not followed, nil if it is.
func (f *follower) judge(link *handle) error {
	dir, home := f.here().info, f.links.Home
	switch {
	case f.links.Follow == host.FollowAll, onlyRootPutIt(link.info, dir):
		return nil
	case home != nil && home.UID == link.info.UID && home.UID == dir.UID && f.isIn(*home):
		f.led = link.path
		return nil
	case !isRoot(link.info.UID):
		return &host.LinkError{Path: link.path, Why: fmt.Sprintf("it belongs to user %d", link.info.UID)}
	}
	return &host.LinkError{Path: link.path, Why: "others than root can write to its directory"}
}

// isIn reports whether the way leads through a user's home.
func (f *follower) isIn(home host.Home) bool {
	at, err := f.h.lookup(home.Dir, host.Links{AtEnd: true})
	if err != nil {
		return false
	}
	defer unix.Close(at.fd)
	return at.info.UID == home.UID && slices.ContainsFunc(f.dirs, func(d *handle) bool { return d.info.SameFile(at.info) })
}

// arrived is why the way ends where it must not.
func (f *follower) arrived() error {
	if f.led != "" && f.here().info.UID != f.links.Home.UID {
		return &host.LinkError{Path: f.led, Why: fmt.Sprintf("user %d made it lead to %s, which belongs to user %d",
			f.links.Home.UID, f.here().path, f.here().info.UID)}
	}
	return nil
}
