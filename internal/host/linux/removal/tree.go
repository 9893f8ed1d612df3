package removal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// Bounds of a removal: a user can nest directories as deep as the disk allows, and refill them
// while they are being emptied.
const (
	maxOpenLevels = 64      // directories open at once
	maxLevels     = 1 << 16 // nested directories
	maxHeld       = 1 << 16 // names in memory, beside one for each level
	maxRepeats    = 1 << 14 // directories entered or listed again
)

// A removal moves down and up one directory at a time, so that neither its stack nor its number of
// descriptors grows with the depth of the tree.
type removal struct {
	levels  []level // from the caller's directory down
	repeats int
	held    int // names of all levels
}

// A level is a directory on the way down.
type level struct {
	fd    int // -1 while it is closed
	id    identity
	names []string // to be removed next, the last one first
	more  bool     // the directory may have other names
	// listed means that the level was listed before, emptied that the last name is a directory
	// that was entered before.
	listed, emptied bool
}

// An identity distinguishes a directory from any other, also from a later one with the same number.
type identity struct {
	descriptor.ID
	born unix.StatxTimestamp
}

func identify(fd int) (identity, error) {
	var stx unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &stx)
	return identity{descriptor.ID{Dev: unix.Mkdev(stx.Dev_major, stx.Dev_minor), Ino: stx.Ino}, stx.Btime}, err
}

// RemoveAll removes the file with a name in a directory and everything below it, if there is one. It follows no
// symlink, stops at the first error, and leaves mounted file systems alone. What [Check] finds is an error before anything is removed.
func RemoveAll(dir int, name string) error {
	if err := checkAll(dir, name); err != nil {
		return err
	}
	r := &removal{levels: []level{{fd: dir, names: []string{name}}}}
	defer r.close()
	for {
		l := r.last()
		var err error
		switch {
		case len(l.names) > 0:
			err = r.remove(l)
		case l.more:
			err = r.list(l)
		case len(r.levels) > 1:
			err = r.leave()
		default:
			return nil
		}
		if err != nil {
			return r.locate(err)
		}
	}
}

func (r *removal) last() *level { return &r.levels[len(r.levels)-1] }

// remove removes the last name of a level, or enters it.
func (r *removal) remove(l *level) error {
	name := l.names[len(l.names)-1]
	err := Remove(l.fd, name)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTDIR) {
		return r.enter(l, name)
	}
	if err == nil {
		l.names, l.emptied = l.names[:len(l.names)-1], false
		r.held--
	}
	return err
}

// enter opens a directory of a level to empty it.
func (r *removal) enter(l *level, name string) error {
	if err := r.countRepeat(&l.emptied); err != nil {
		return err
	}
	if len(r.levels) > maxLevels {
		return fmt.Errorf("more than %d directories are within one another", maxLevels)
	}
	fd, err := descriptor.Openat2(l.fd, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		// Something else has the name by now, or it was moved away. EXDEV is no mount point: Remove
		// would have refused it.
		return descriptor.Ignore(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV)
	}
	r.forgetSiblings(l)
	r.levels = append(r.levels, level{fd: fd, more: true})
	r.closeFarthest()
	down := r.last()
	down.id, err = identify(fd)
	return err
}

// countRepeat bounds the steps that have been done before.
func (r *removal) countRepeat(before *bool) error {
	if *before {
		r.repeats++
	}
	if *before = true; r.repeats > maxRepeats {
		return fmt.Errorf("another process keeps filling it: %w", unix.ENOTEMPTY)
	}
	return nil
}

// forgetSiblings drops the names of a level except the one that is entered, if there are too many
// in memory. They are listed again later.
func (r *removal) forgetSiblings(l *level) {
	if others := len(l.names) - 1; r.held > maxHeld && others > 0 {
		l.names, l.more = []string{l.names[others]}, true
		r.held -= others
	}
}

// list reads the next names of a level.
func (r *removal) list(l *level) error {
	if err := r.countRepeat(&l.listed); err != nil {
		return err
	}
	fd, err := descriptor.Reopen(l.fd, unix.O_RDONLY)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), ".")
	defer dir.Close()
	l.names, err = dir.Readdirnames(descriptor.NameBatch)
	slices.Sort(l.names)
	l.more = len(l.names) == descriptor.NameBatch
	r.held += len(l.names)
	return descriptor.IgnoreEOF(err)
}

// closeFarthest closes the topmost open level if too many are open, but never the caller's directory.
func (r *removal) closeFarthest() {
	if i := len(r.levels) - 1 - maxOpenLevels; i > 0 && r.levels[i].fd >= 0 {
		_ = unix.Close(r.levels[i].fd)
		r.levels[i].fd = -1
	}
}

// leave goes up one level. A directory that was closed meanwhile is opened again as "..", and must be
// the same one: a user may have moved the directory below it elsewhere.
func (r *removal) leave() error {
	down := r.last().fd
	up := &r.levels[len(r.levels)-2]
	if up.fd < 0 {
		fd, err := unix.Openat(down, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if id, err := identify(fd); err != nil || id != up.id {
			return errors.Join(err, unix.Close(fd), host.ErrChanged)
		}
		up.fd = fd
	}
	r.levels = r.levels[:len(r.levels)-1]
	return unix.Close(down)
}

// close closes all levels but the caller's directory.
func (r *removal) close() {
	for _, l := range r.levels[1:] {
		if l.fd >= 0 {
			_ = unix.Close(l.fd)
		}
	}
}

// maxErrorNames is how many names of a path an error shows.
const maxErrorNames = 32

// locate adds to an error the path that could not be removed, relative to the one to remove.
func (r *removal) locate(err error) error {
	var names []string
	for _, l := range r.levels[1:] {
		if len(l.names) > 0 {
			names = append(names, l.names[len(l.names)-1])
		}
	}
	if len(names) == 0 {
		return err
	}
	if len(names) > maxErrorNames {
		names = append([]string{"..."}, names[len(names)-maxErrorNames:]...)
	}
	return fmt.Errorf("cannot remove %s in it: %w", strings.Join(names, "/"), err)
}
