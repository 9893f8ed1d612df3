package file

import (
	"context"
	"fmt"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// Identify implements [resource.Identifier]: a file is a name in a directory, however the
// path leads to that. Of a directory that is not there yet nothing is known.
func (posix) Identify(_ context.Context, h host.Reader, wants []Attributes) []string {
	identities, known := make([]string, len(wants)), map[string]string{}
	for i, want := range wants {
		if follows(want) {
			identities[i] = meant(h, want.Path)
			continue
		}
		dir := path.Dir(want.Path)
		if _, ok := known[dir]; !ok {
			known[dir] = inode(h, dir)
		}
		if known[dir] != "" {
			identities[i] = known[dir] + "/" + path.Base(want.Path)
		}
	}
	return identities
}

// inode identifies what a path leads to, "" if that is not there.
func inode(h host.Reader, at string) string {
	info, err := h.Stat(at)
	if err != nil {
		return ""
	}
	return id(info)
}

// meant identifies what a path leads to, a symlink there included.
func meant(h host.Reader, at string) string {
	dir, name, err := h.LookupParent(at, host.Links{Follow: host.FollowAll, AtEnd: true})
	if err != nil {
		return ""
	}
	defer dir.Close()
	return id(dir.Info()) + "/" + name
}

func id(info host.FileInfo) string { return fmt.Sprintf("%d:%d", info.Dev, info.Ino) }
