package host

import (
	"fmt"
	"path"
	"strings"
)

// Identity identifies a name in a directory of a host, whatever path leads to it.
func Identity(dir FileInfo, name string) string {
	return fmt.Sprintf("%d:%d/%s", dir.Dev, dir.Ino, name)
}

// IsBelow reports whether a path is top or lies below it, as far as clean paths tell without a host.
func IsBelow(p, top string) bool { return p == top || top == "/" || strings.HasPrefix(p, top+"/") }

// ResolvesToAncestor reports whether a path, with its symlinks resolved, is a directory or an ancestor of it.
func ResolvesToAncestor(h Reader, p, dir string) bool {
	top, err := h.Stat(p)
	if err != nil {
		return false // there is nothing below it
	}
	for ; ; dir = path.Dir(dir) {
		if info, err := h.Stat(dir); err == nil && info.Dev == top.Dev && info.Ino == top.Ino {
			return true
		}
		if dir == path.Dir(dir) {
			return false
		}
	}
}
