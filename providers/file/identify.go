package file

import (
	"context"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Identify implements [resource.Identifier]: a file is a name in a directory, however the
// path leads to that. Of a directory that is not there yet nothing is known.
func (posix) Identify(_ context.Context, h resource.Reader, wants []Attributes) []string {
	identities, in := make([]string, len(wants)), directories{h: h}
	for i, want := range wants {
		if follows(want) {
			identities[i] = meant(h, want.Path)
			continue
		}
		identities[i] = in.identity(want.Path)
	}
	return identities
}

// directories are looked at once each.
type directories struct {
	h     host.Reader
	known map[string]*host.FileInfo // nil for one that is not there
}

// identity is "" where the directory is not there.
func (d *directories) identity(at string) string {
	dir := path.Dir(at)
	info, ok := d.known[dir]
	if !ok {
		if found, err := d.h.Stat(dir); err == nil {
			info = &found
		}
		if d.known == nil {
			d.known = map[string]*host.FileInfo{}
		}
		d.known[dir] = info
	}
	if info == nil {
		return ""
	}
	return host.Identity(*info, path.Base(at))
}

// meant identifies what a path leads to, a symlink there included.
func meant(h host.Reader, at string) string {
	dir, name, err := h.LookupParent(at, host.Links{Follow: host.FollowAll, AtEnd: true})
	if err != nil {
		return ""
	}
	defer dir.Close()
	return host.Identity(dir.Info(), name)
}
