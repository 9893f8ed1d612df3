package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fettle-dev/fettle/internal/state"
)

func TestCacheRoundTrips(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	c := state.NewCache(dir, "cache")
	if _, err := c.Load("a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty cache: %v", err)
	}
	for _, text := range []string{"one", "", "another"} {
		must(t, c.Store("a", []byte(text)))
		if got, err := c.Load("a"); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	for name, mode := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "cache": 0o700 | os.ModeDir, "cache/a": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%q has the mode %v, %v", name, info.Mode(), err)
		}
	}
}

func TestCacheWritableByOthersIsNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		open  func(dir, file string) error
		write bool // a new file takes the place of the old one
	}{
		"others may write the file":  {func(_, file string) error { return os.Chmod(file, 0o622) }, true},
		"the file is someone else's": {func(_, file string) error { return os.Chown(file, 12345, 12345) }, true},
		"the file is a link": {func(dir, file string) error {
			other := filepath.Join(filepath.Dir(dir), "other")
			return errors.Join(os.Rename(file, other), os.Symlink(other, file))
		}, true},
		"the file is a directory":         {func(_, file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }, false},
		"others may write the directory":  {func(dir, _ string) error { return os.Chmod(dir, 0o722) }, false},
		"the directory is someone else's": {func(dir, _ string) error { return os.Chown(dir, 12345, 12345) }, false},
		"the directory is a link": {func(dir, _ string) error {
			other := filepath.Join(filepath.Dir(dir), "other")
			return errors.Join(os.Rename(dir, other), os.Symlink(other, dir))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cache := state.NewCache(dir, "cache")
			must(t, cache.Store("a", []byte("good")))
			must(t, c.open(filepath.Join(dir, "cache"), filepath.Join(dir, "cache", "a")))
			if text, err := cache.Load("a"); err == nil {
				t.Errorf("read %q", text)
			}
			if err := cache.Store("a", []byte("new")); (err == nil) != c.write {
				t.Errorf("storing: %v", err)
			}
		})
	}
}

func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	c := state.NewCache(dir, "cache")
	names := func() []string {
		entries, err := os.ReadDir(filepath.Join(dir, "cache"))
		must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	must(t, c.Store("left by a crash", nil))
	must(t, os.Rename(filepath.Join(dir, "cache", "left by a crash"), filepath.Join(dir, "cache", ".new-1")))
	for i := range 20 {
		must(t, c.Store(fmt.Sprintf("%02d", i), []byte("x")))
	}
	if all := names(); len(all) != 16 || !slices.Contains(all, "19") || slices.Contains(all, ".new-1") {
		t.Errorf("the cache has %v", all)
	}
	large := bytes.Repeat([]byte("x"), 40<<20)
	must(t, c.Store("large", large))
	must(t, c.Store("larger", append(large, 'x')))
	must(t, c.Store("too large", bytes.Repeat([]byte("x"), 64<<20+1)))
	all := names()
	if slices.Contains(all, "large") && len(all) > 16 || !slices.Contains(all, "larger") || slices.Contains(all, "too large") {
		t.Errorf("the cache has %v", all)
	}
	var size int64
	for _, name := range all {
		info, err := os.Stat(filepath.Join(dir, "cache", name))
		must(t, err)
		size += info.Size()
	}
	if size > 64<<20 {
		t.Errorf("the cache has %d bytes", size)
	}
}
