package hosttest

import (
	"os"
	"sync"

	"github.com/fettle-dev/fettle/internal/host"
)

// ids are a user and a group; -1 is unset.
type ids struct{ uid, gid int }

// or replaces unset IDs by others.
func (i ids) or(other ids) ids {
	if i.uid == -1 {
		i.uid = other.uid
	}
	if i.gid == -1 {
		i.gid = other.gid
	}
	return i
}

type inode struct{ dev, ino uint64 }

// owners simulates the owners of files if the test does not run as root. Then every file belongs to root until
// its owner is changed.
type owners struct {
	self  ids
	mu    sync.Mutex
	known map[inode]ids
}

func newOwners() *owners {
	return &owners{self: ids{os.Geteuid(), os.Getegid()}, known: map[inode]ids{}}
}

// real reports whether files have their real owners.
func (o *owners) real() bool { return o.self.uid == 0 }

// allowed returns the owner that the test may really set.
func (o *owners) allowed(want ids) (uid, gid int) {
	if o.real() {
		return want.uid, want.gid
	}
	return o.self.uid, o.self.gid
}

func (o *owners) set(info host.FileInfo, owner ids) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[inode{info.Dev, info.Ino}] = owner
}

// shown returns info with the simulated owner.
func (o *owners) shown(info host.FileInfo) host.FileInfo {
	if o.real() {
		return info
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	owner := o.known[inode{info.Dev, info.Ino}]
	info.UID, info.GID = owner.uid, owner.gid
	return info
}
