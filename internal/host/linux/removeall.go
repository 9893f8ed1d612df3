package linux

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// Bounds of a removal: a user can nest directories as deep as there is room for, and fill
// them again while they are emptied.
const (
	maxOpenLevels = 64      // directories held open at once
	maxLevels     = 1 << 16 // directories within one another
	maxHeld       = 1 << 16 // names in memory, beside one for each level
	maxRepeats    = 1 << 14 // directories entered or listed once more
)

// A removal goes down and up one directory at a time, so that neither its stack nor the
// number of its descriptors grows with the depth of a tree.
type removal struct {
	levels  []level // from the directory that has the name down
	repeats int
	held    int // names of all levels
}

// A level is a directory on the way down.
type level struct {
	fd    int // -1 while it is closed
	id    identity
	names []string // to be removed next, the last one first
	more  bool     // there may be others
	// listed says that the level was listed before, emptied that the last name is a directory
	// that was entered before.
	listed, emptied bool
}

// An identity tells a directory from any other, also from a later one with its number.
type identity struct {
	fileID
	born unix.StatxTimestamp
}

func identify(fd int) (identity, error) {
	var stx unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &stx)
	return identity{fileID{unix.Mkdev(stx.Dev_major, stx.Dev_minor), stx.Ino}, stx.Btime}, err
}

// removeAll removes what has a name in a directory, and all below it that is of the same
// mount. It follows no symlink, and ends at the first error.
func removeAll(dir int, name string) error {
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
			return r.told(err)
		}
	}
}

func (r *removal) last() *level { return &r.levels[len(r.levels)-1] }

// remove removes the last name of a level, or enters it.
func (r *removal) remove(l *level) error {
	name := l.names[len(l.names)-1]
	err := remove(l.fd, name)
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
	if err := r.count(&l.emptied); err != nil {
		return err
	}
	if len(r.levels) > maxLevels {
		return fmt.Errorf("more than %d directories are within one another", maxLevels)
	}
	fd, err := openat2(l.fd, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		// It is something else by now, or was moved elsewhere: EXDEV is no mount, which could
		// not be removed before.
		return ignore(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV)
	}
	r.forgetSiblings(l)
	r.levels = append(r.levels, level{fd: fd, more: true})
	r.closeFarthest()
	down := r.last()
	down.id, err = identify(fd)
	return err
}

// count bounds how often is done again what was done before.
func (r *removal) count(before *bool) error {
	if *before {
		r.repeats++
	}
	if *before = true; r.repeats > maxRepeats {
		return fmt.Errorf("another process keeps filling it: %w", unix.ENOTEMPTY)
	}
	return nil
}

// forgetSiblings keeps of a level that is gone down from only the way down, where too many names are held: the others
// are read again.
func (r *removal) forgetSiblings(l *level) {
	if others := len(l.names) - 1; r.held > maxHeld && others > 0 {
		l.names, l.more = []string{l.names[others]}, true
		r.held -= others
	}
}

// list reads names of a level whose former ones are gone.
func (r *removal) list(l *level) error {
	if err := r.count(&l.listed); err != nil {
		return err
	}
	fd, err := unix.Openat(l.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), ".")
	defer dir.Close()
	l.names, err = dir.Readdirnames(nameBatch)
	slices.Sort(l.names)
	l.more = len(l.names) == nameBatch
	r.held += len(l.names)
	return ignoreEOF(err)
}

// closeFarthest closes the open level that is farthest up, where there are too many. The
// first one is the caller's.
func (r *removal) closeFarthest() {
	if i := len(r.levels) - 1 - maxOpenLevels; i > 0 && r.levels[i].fd >= 0 {
		_ = unix.Close(r.levels[i].fd)
		r.levels[i].fd = -1
	}
}

// leave goes up one level. A directory that was closed meanwhile is opened again as the one
// above, which it has to be: a user may have moved what is below it elsewhere.
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

// close lets go of all but the first level.
func (r *removal) close() {
	for _, l := range r.levels[1:] {
		if l.fd >= 0 {
			_ = unix.Close(l.fd)
		}
	}
}

// maxToldLevels is how many names an error has.
const maxToldLevels = 32

// told adds what could not be removed, relative to the directory that has the name.
func (r *removal) told(err error) error {
	var way []string
	for _, l := range r.levels[1:] {
		if len(l.names) > 0 {
			way = append(way, l.names[len(l.names)-1])
		}
	}
	if len(way) == 0 {
		return err
	}
	if len(way) > maxToldLevels {
		way = append([]string{"..."}, way[len(way)-maxToldLevels:]...)
	}
	return fmt.Errorf("cannot remove %s in it: %w", strings.Join(way, "/"), err)
}
