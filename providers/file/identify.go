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
		at, err := place(h, want)
		if err != nil {
			continue
		}
		dir := path.Dir(at)
		if _, ok := known[dir]; !ok {
			known[dir] = inode(h, dir)
		}
		if known[dir] != "" {
			identities[i] = known[dir] + "/" + path.Base(at)
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
	return fmt.Sprintf("%d:%d", info.Dev, info.Ino)
}
