package accounts

import (
	"sync"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
)

// A Cache reads users and groups again only when their file has changed. The zero value is ready to
// use, with any number of hosts, and safe for concurrent use. Its results must not be modified.
type Cache struct {
	users  cached[Users]
	groups cached[Groups]
}

// Users is [ReadUsers].
func (c *Cache) Users(h host.Reader) (Users, error) { return c.users.get(h, PasswdFile, ReadUsers) }

// Groups is [ReadGroups].
func (c *Cache) Groups(h host.Reader) (Groups, error) { return c.groups.get(h, GroupFile, ReadGroups) }

// cached is the parsed content of a file.
type cached[T any] struct {
	mu    sync.Mutex
	file  host.FileInfo
	value T
}

func (k *cached[T]) get(h host.Reader, path string, read func(host.Reader) (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, err := h.Stat(path)
	if err != nil {
		return read(h)
	}
	before.AccessTime = time.Time{} // reading changes that
	if before == k.file {
		return k.value, nil
	}
	value, err := read(h)
	if err == nil && distinct(before) {
		k.file, k.value = before, value
	}
	return value, err
}

// distinct reports whether the next change of a file gets another time: within one tick of the
// clock, two changes may have the same. A tick is a hundredth of a second, or two seconds on the
// coarsest file systems.
func distinct(file host.FileInfo) bool { return time.Since(file.ModTime) > 3*time.Second }
