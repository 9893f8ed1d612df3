package debian

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// cacheDir is a directory of ours in $FETTLE_CACHE, by default "fettle" under the user's cache, made if need be. Trees
// lie there and not in the directory for temporary files because that one may be another file system, world-writable,
// or one that can't carry an overlay.
func cacheDir(name string) (string, error) {
	cache := os.Getenv("FETTLE_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("cannot find the user's cache directory: %w; set HOME, XDG_CACHE_HOME or FETTLE_CACHE", err)
		}
		cache = filepath.Join(user, "fettle")
	}
	dir := filepath.Join(cache, name)
	return dir, os.MkdirAll(dir, 0o755)
}

// acquire takes an exclusive lock that ends when the file is closed or the process dies.
func acquire(path string) (*os.File, error) {
	return lock(path, unix.LOCK_EX)
}

func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	return f, nil
}

// A place is a directory that belongs to this process for as long as the process lives.
type place struct {
	dir  string
	held *os.File
}

// newPlace makes a place and clears away those whose processes died without doing so.
func newPlace() (*place, error) {
	dir, err := cacheDir("scratch")
	if err != nil {
		return nil, err
	}
	all, err := acquire(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer all.Close()
	sweep(dir)
	own, err := os.MkdirTemp(dir, "tree-")
	if err != nil {
		return nil, err
	}
	held, err := acquire(own + ".lock")
	if err != nil {
		return nil, err
	}
	return &place{dir: own, held: held}, nil
}

// sweep removes what nobody holds. What it can't remove stays for the next time.
func sweep(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, "tree-*.lock"))
	for _, path := range locks {
		free, err := lock(path, unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			continue
		}
		_ = (&place{dir: strings.TrimSuffix(path, ".lock"), held: free}).remove()
	}
}

// name is unique among the places of this machine.
func (p *place) name() string {
	return "fettle-" + strings.TrimPrefix(filepath.Base(p.dir), "tree-")
}

// remove takes down every mount in the place and deletes it, with what a machine in it leaves elsewhere. No process
// may use it any more.
func (p *place) remove() error {
	defer p.held.Close()
	for _, step := range []func() error{p.removeCgroups, p.removePropagation, func() error { return discard(p.dir) }} {
		if err := step(); err != nil {
			return err
		}
	}
	return os.Remove(p.held.Name())
}

// removePropagation removes the directory that nspawn leaves after an unclean end.
func (p *place) removePropagation() error {
	return discard(filepath.Join("/run/systemd/nspawn/propagate", p.name()))
}

// discard deletes a tree, but first detaches what is mounted in it: deleting must never reach through a mount.
func discard(dir string) error {
	if err := detachUnder(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot remove %s: %w", dir, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
