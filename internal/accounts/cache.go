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
// clock, two changes may have the same. A tick is a hundredth of a second, but a busy machine may be
// late. The coarsest file systems have ticks of two seconds, and no smaller fractions.
func distinct(file host.FileInfo) bool {
	age := time.Since(file.ModTime)
	if file.ModTime.Nanosecond()%int(10*time.Millisecond) == 0 {
		return age > 3*time.Second
	}
	return age > 100*time.Millisecond
}
