package entry

import (
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// Identities determines whether two paths lead to the same entry: a name in a directory,
// whatever path leads to that. Each directory is looked at once.
type Identities struct {
	host host.Reader
	dirs map[string]*host.FileInfo // nil for one that does not exist
}

// NewIdentities returns Identities for one host.
func NewIdentities(h host.Reader) *Identities {
	return &Identities{host: h, dirs: map[string]*host.FileInfo{}}
}

// Of returns the identity of a path, or "" if its directory does not exist.
func (i *Identities) Of(at string) string {
	dir := path.Dir(at)
	info, ok := i.dirs[dir]
	if !ok {
		if found, err := i.host.Stat(dir); err == nil {
			info = &found
		}
		i.dirs[dir] = info
	}
	if info == nil {
		return ""
	}
	return host.Identity(*info, path.Base(at))
}

// OfTarget returns the identity of a path's target if a symlink at its end is followed.
func (i *Identities) OfTarget(at string) string {
	dir, name, err := i.host.LookupParent(at, host.Links{Follow: host.FollowAll, AtEnd: true})
	if err != nil {
		return ""
	}
	defer dir.Close()
	return host.Identity(dir.Info(), name)
}
