package resolve

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
	"github.com/fettle-dev/fettle/internal/host/linux/trust"
)

// maxLinks is how many symlinks a path may lead through, as in the kernel.
const maxLinks = 40

// A walker resolves a path name by name, each in the directory that it opened before. So the
// symlink that it checks is the one that it follows.
type walker struct {
	root     Root
	links    host.Links
	dirs     []*descriptor.File // from the root down
	rest     []string           // names left to resolve
	hops     int
	homeLink string // the last followed symlink that belongs to the user of links.Home
}

// walk opens the directory that a path leads to, and returns the name in it.
func (r Root) walk(name string, links host.Links) (dir *descriptor.File, base string, err error) {
	w := walker{root: r, links: links, rest: split(name)}
	defer func() {
		for _, d := range w.dirs {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := w.enter(r.FD, ".", "/"); err != nil {
		return nil, "", err
	}
	for base == "" && err == nil {
		base, err = w.step()
	}
	if err == nil {
		err = w.checkEnd()
	}
	if err != nil {
		return nil, "", err
	}
	dir, w.dirs = w.here(), w.dirs[:len(w.dirs)-1]
	return dir, base, nil
}

func split(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(n string) bool { return n == "" || n == "." })
}

func (w *walker) here() *descriptor.File { return w.dirs[len(w.dirs)-1] }

// enter goes into a directory.
func (w *walker) enter(dir int, name, full string) error {
	fd, err := w.root.step(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	file, err := descriptor.NewFile(fd, full)
	if err == nil {
		w.dirs = append(w.dirs, file)
	}
	return err
}

// step resolves one name. It returns the last name of the path, "." for the directory itself.
func (w *walker) step() (base string, err error) {
	if len(w.rest) == 0 {
		return ".", nil
	}
	name, last := w.rest[0], len(w.rest) == 1
	w.rest = w.rest[1:]
	switch {
	case name == "..":
		return "", w.leave()
	case last && !w.links.AtEnd:
		return name, nil
	}
	file, err := w.open(name)
	if last && errors.Is(err, unix.ENOENT) {
		return name, nil
	}
	if err != nil {
		return "", err
	}
	if last && !file.Info.IsSymlink() {
		return name, file.Close()
	}
	return "", errors.Join(w.enterOrFollow(file, name), file.Close())
}

// enterOrFollow follows a symlink or enters a directory.
func (w *walker) enterOrFollow(file *descriptor.File, name string) error {
	if file.Info.IsSymlink() {
		return w.follow(file)
	}
	return w.enter(w.here().FD, name, file.Path) // opening it again triggers an automount
}

func (w *walker) open(name string) (*descriptor.File, error) {
	fd, err := w.root.step(w.here().FD, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return descriptor.NewFile(fd, path.Join(w.here().Path, name))
}

// leave goes up one directory, but not above the root.
func (w *walker) leave() error {
	if len(w.dirs) == 1 {
		return nil
	}
	err := w.here().Close()
	w.dirs = w.dirs[:len(w.dirs)-1]
	return err
}

// follow replaces the name of a symlink by its text.
func (w *walker) follow(link *descriptor.File) error {
	if w.hops++; w.hops > maxLinks {
		return fmt.Errorf("more than %d symlinks follow one another", maxLinks)
	}
	if err := w.check(link); err != nil {
		return err
	}
	text, err := descriptor.Readlink(link.FD)
	if err != nil {
		return err
	}
	for path.IsAbs(text) && len(w.dirs) > 1 && err == nil {
		err = w.leave()
	}
	w.rest = append(split(text), w.rest...)
	return err
}

// check returns why a symlink is not followed.
func (w *walker) check(link *descriptor.File) error {
	if w.links.Follow == host.FollowAll {
		return nil
	}
	why, err := trust.Distrust(link.Info, w.dirs)
	if err != nil || why == "" {
		return err
	}
	if home := w.links.Home; home != nil && home.UID == link.Info.UID && home.UID == w.here().Info.UID && w.isIn(*home) {
		w.homeLink = link.Path
		return nil
	}
	return &host.LinkError{Path: link.Path, Why: why}
}

// isIn reports whether the walk is inside a user's home directory.
func (w *walker) isIn(home host.Home) bool {
	dir, err := w.root.Lookup(home.Dir, host.Links{AtEnd: true})
	if err != nil {
		return false
	}
	defer dir.Close()
	return dir.Info.UID == home.UID && slices.ContainsFunc(w.dirs, func(d *descriptor.File) bool { return d.Info.SameFile(dir.Info) })
}

// checkEnd returns an error if a user's symlink led out of what belongs to that user.
func (w *walker) checkEnd() error {
	if w.homeLink != "" && w.here().Info.UID != w.links.Home.UID {
		return &host.LinkError{Path: w.homeLink, Why: fmt.Sprintf("user %d made it lead to %s, which belongs to user %d",
			w.links.Home.UID, w.here().Path, w.here().Info.UID)}
	}
	return nil
}
