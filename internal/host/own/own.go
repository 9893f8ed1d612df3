// Package own recognizes Fettle's own files: its state, its keys and its tokens.
//
// It recognizes them by device and inode. So it does not matter whether a path, a symlink, a hard link, a bind mount or
// the mount of a container leads to them.
package own

import (
	"path"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Root is where a host has files of Fettle: at some paths, and everywhere below them. They need not exist.
type Root struct {
	Host  host.Reader
	Paths []string
	// Bucket is a directory below one of Paths. The directories in it do not count: Files that are restored have the contents in
	// them as their sources, and there may be many.
	Bucket string
}

// Dirs returns the paths that Fettle has on each host where it runs.
func Dirs(stateDir string) []string {
	return []string{stateDir, "/etc/fettle/agent", "/run/fettle-units"}
}

// Files are Fettle's own files. The nil Files are none. Safe for concurrent use.
type Files struct {
	roots []Root

	mu     sync.Mutex
	known  map[id]location // all files; nil before they were looked for
	above  map[id]bool     // the directories on the way to them
	looked time.Time       // when they were last looked for
}

type id struct{ dev, ino uint64 }

// A location is where a file was found.
type location struct {
	h    host.Reader
	path string
}

// An Error is the refusal of one of Fettle's own files.
type Error struct {
	Path  string
	Below bool // the files are below the path
}

// Error names the path by which somebody asked for the file.
func (e *Error) Error() string {
	if e.Below {
		return e.Path + " has some of Fettle's own files below it, which resources can neither read nor change: leave it out"
	}
	return e.Path + " is one of Fettle's own files, which resources can neither read nor change: leave it out"
}

// New returns the files below some roots. It looks for them before the first answer.
func New(roots ...Root) *Files { return &Files{roots: roots} }

// Refuse returns an *Error if a file, which has this path, was one of Fettle's own when they were last looked for.
func (f *Files) Refuse(path string, info host.FileInfo) error {
	if f.has(info) {
		return &Error{Path: path}
	}
	return nil
}

func (f *Files) has(info host.FileInfo) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.findOnce()
	at, found := f.known[idOf(info)]
	if found && !at.has(info) { // another file may have the number by now
		f.find()
		_, found = f.known[idOf(info)]
	}
	return found
}

// margin is how far the times of files may be behind the clock.
const margin = 20 * time.Millisecond

// RefuseNew is Refuse, but knows files that were created or changed since Fettle's own were last looked for, too.
func (f *Files) RefuseNew(path string, info host.FileInfo) error {
	err := f.Refuse(path, info)
	if f == nil || err != nil || info.ChangeTime.Before(f.lookedAt().Add(-margin)) {
		return err
	}
	f.Refresh()
	return f.Refuse(path, info)
}

func (f *Files) lookedAt() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looked
}

// Below reports whether a directory has some of the files below it, without being one of them.
func (f *Files) Below(dir host.FileInfo) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.findOnce()
	return f.above[idOf(dir)]
}

// Refresh looks for the files again.
func (f *Files) Refresh() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find()
}

// findOnce looks for the files unless they were looked for before.
func (f *Files) findOnce() {
	if f.known == nil {
		f.find()
	}
}

// find looks for all files. Those that vanish meanwhile are no loss.
func (f *Files) find() {
	f.known, f.above, f.looked = map[id]location{}, map[id]bool{}, time.Now()
	for _, p := range f.roots {
		for _, root := range p.Paths {
			if file, err := p.Host.Lookup(root, host.Links{Follow: host.FollowAll, AtEnd: true}); err == nil {
				f.add(p, file)
				f.addAbove(p.Host, root)
			}
		}
	}
}

// add adds a file and everything below it, and closes it.
func (f *Files) add(p Root, file host.Handle) {
	defer file.Close()
	f.known[idOf(file.Info())] = location{p.Host, file.Path()}
	if !file.Info().IsDir() {
		return
	}
	names, err := file.ReadDir()
	if err != nil {
		return
	}
	for _, name := range names {
		child, err := file.Child(name)
		switch {
		case err != nil:
		case file.Path() == p.Bucket && child.Info().IsDir():
			_ = child.Close()
		default:
			f.add(p, child)
		}
	}
}

func (f *Files) addAbove(h host.Reader, root string) {
	for dir := path.Clean(root); dir != "/"; {
		dir = path.Dir(dir)
		if info, err := h.Stat(dir); err == nil {
			f.above[idOf(info)] = true
		}
	}
}

// has reports whether a file is still there.
func (s location) has(info host.FileInfo) bool {
	is, err := s.h.Lstat(s.path)
	return err == nil && is.SameFile(info)
}

func idOf(info host.FileInfo) id { return id{info.Dev, info.Ino} }
