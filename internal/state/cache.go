package state

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A Cache is a folder of a state directory with files that save time and can be lost. It only loads
// files that no one but the user of this process can have written.
type Cache struct{ stateDir, dir string }

// Bounds of a cache. The files that were stored last are kept.
const (
	maxCacheFiles = 16
	maxCacheBytes = 64 << 20
)

// NewCache returns the cache in a folder of a state directory. Both are created when the first file
// is stored.
func NewCache(stateDir, folder string) Cache { return Cache{stateDir, filepath.Join(stateDir, folder)} }

var errNotPrivate = errors.New("other users can access it")

// Load reads a file. It returns an error if the file is missing or others may have written it.
func (c Cache) Load(name string) ([]byte, error) {
	if err := private(os.Lstat(c.dir)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(c.dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err := private(info, err); err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxCacheBytes {
		return nil, errors.New("it is not a file of this cache")
	}
	text := make([]byte, info.Size())
	_, err = io.ReadFull(f, text)
	return text, err
}

func private(info fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return errNotPrivate
	}
	return nil
}

// Store replaces a file and removes the oldest ones until the cache is within its bounds. It
// ignores a text that is too large for the cache. Files may not survive a power loss.
func (c Cache) Store(name string, text []byte) error {
	if len(text) > maxCacheBytes {
		return nil
	}
	err := makeDir(c.stateDir)
	if err == nil {
		err = makeDir(c.dir)
	}
	if err == nil {
		err = private(os.Lstat(c.dir))
	}
	if err == nil {
		err = swapFile(filepath.Join(c.dir, name), text, func(*os.File) error { return nil })
	}
	if err == nil {
		err = c.prune(name, len(text))
	}
	if err != nil {
		return fmt.Errorf("cannot store in the cache %s: %w", c.dir, err)
	}
	return nil
}

// prune removes files beyond the bounds. The latest file, whose size is given in bytes, stays.
func (c Cache) prune(latest string, size int) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, f := range excess(entries, latest, size) {
		if err := os.Remove(filepath.Join(c.dir, f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// excess returns the names of the files beyond the bounds and of temporary files that a crash left.
func excess(entries []fs.DirEntry, latest string, stored int) (names []string) {
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && e.Name() != latest {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	size, count := int64(stored), 1
	for _, f := range files {
		if strings.HasPrefix(f.Name(), tempPrefix) || count == maxCacheFiles || size+f.Size() > maxCacheBytes {
			names = append(names, f.Name())
			continue
		}
		size, count = size+f.Size(), count+1
	}
	return names
}
