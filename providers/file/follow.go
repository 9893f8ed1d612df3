package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// maxLinks is how many links in a row the kernel follows too.
const maxLinks = 40

// place is the path that a resource is about: its own, or with links: follow the one
// that a link there leads to, which need not exist. Only the host can tell what ..
// means after a link, so paths are not cleaned.
func place(h host.Reader, want Attributes) (string, error) {
	at := want.Path
	if want.Links == nil || *want.Links != linksFollow {
		return at, nil
	}
	for range maxLinks {
		info, err := h.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsSymlink() {
			return at, nil
		}
		if err != nil {
			return "", err
		}
		text, err := h.Readlink(at)
		if err != nil {
			return "", err
		}
		if !path.IsAbs(text) {
			text = path.Dir(at) + "/" + text
		}
		at = text
	}
	return "", fmt.Errorf("%s is a link that leads nowhere: more than %d links follow one another", want.Path, maxLinks)
}

// What links can say.
const (
	linksManage = "manage"
	linksFollow = "follow"
)
