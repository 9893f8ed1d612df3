package accounts

import (
	"sync"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Cache reads users and groups again only when their file has changed: for whoever
// asks for them a thousand times in a run. The zero value is ready to use, with any
// number of hosts, also at the same time. What it returns must not be changed.
type Cache struct {
	users  kept[Users]
	groups kept[Groups]
}

// Users is [ReadUsers].
func (c *Cache) Users(h host.Reader) (Users, error) { return c.users.get(h, PasswdFile, ReadUsers) }

// Groups is [ReadGroups].
func (c *Cache) Groups(h host.Reader) (Groups, error) { return c.groups.get(h, GroupFile, ReadGroups) }

// kept is what a file said that looked like this.
type kept[T any] struct {
	mu    sync.Mutex
	file  host.FileInfo
	value T
}

func (k *kept[T]) get(h host.Reader, path string, read func(host.Reader) (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, err := h.Stat(path)
	if err != nil {
		return read(h)
	}
	before.AccessTime = time.Time{} // to read it is no change
	if before == k.file {
		return k.value, nil
	}
	value, err := read(h)
	if err == nil && settled(before) {
		k.file, k.value = before, value
	}
	return value, err
}

// settled reports whether the next change to a file is sure to show: within one tick of
// the clock two changes may have the same time. A tick is a hundredth of a second, or
// two seconds on the coarsest of file systems.
func settled(file host.FileInfo) bool { return time.Since(file.ModTime) > 3*time.Second }
