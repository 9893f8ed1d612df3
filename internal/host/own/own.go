// Package own recognizes Fettle's own files: its state, its keys and its tokens.
//
// It recognizes them by device and inode. So it does not matter whether a path, a symlink, a hard link, a bind mount or
// the mount of a container leads to them.
package own

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/fettle-dev/fettle/internal/host"
)

// Files are Fettle's own files: some directories and files, and everything below them. The nil Files are none. Safe for
// concurrent use.
type Files struct {
	roots []string

	mu    sync.Mutex
	known map[id]string // the paths of all files
	above map[id]bool   // the directories on the way to them
}

type id struct{ dev, ino uint64 }

// An Error is the refusal of one of Fettle's own files.
type Error struct{ Path string }

// Error names the path by which somebody asked for the file.
func (e *Error) Error() string {
	return e.Path + " is one of Fettle's own files, which resources can neither read nor change: leave it out"
}

// New returns the files at and below some paths, as this process names them. It looks for them before the first answer.
// Paths need not exist yet.
func New(paths ...string) *Files { return &Files{roots: paths} }

// Refuse returns an *Error if a file, which has this path, was one of Fettle's own when they were last looked for.
func (f *Files) Refuse(path string, info host.FileInfo) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.find()
	}
	this := id{info.Dev, info.Ino}
	at, found := f.known[this]
	if found && !isAt(this, at) { // another file may have the number by now
		f.find()
		_, found = f.known[this]
	}
	if found {
		return &Error{path}
	}
	return nil
}

// Below reports whether a directory has some of the files below it, without being one of them.
func (f *Files) Below(dir host.FileInfo) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.find()
	}
	return f.above[id{dir.Dev, dir.Ino}]
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

// find looks for all files. Those that vanish meanwhile are no loss.
func (f *Files) find() {
	f.known, f.above = map[id]string{}, map[id]bool{}
	for _, root := range f.roots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error { // never fails
			if err == nil {
				f.add(path, entry)
			}
			return nil
		})
		f.addAbove(root)
	}
}

func (f *Files) add(path string, entry fs.DirEntry) {
	if info, err := entry.Info(); err == nil {
		f.known[idOf(info)] = path
	}
}

func (f *Files) addAbove(root string) {
	for path := root; path != filepath.Dir(path); {
		path = filepath.Dir(path)
		if info, err := os.Lstat(path); err == nil {
			f.above[idOf(info)] = true
		}
	}
}

// isAt reports whether a path still leads to a file.
func isAt(this id, path string) bool {
	info, err := os.Lstat(path)
	return err == nil && idOf(info) == this
}

func idOf(info fs.FileInfo) id {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return id{st.Dev, st.Ino}
	}
	return id{}
}
