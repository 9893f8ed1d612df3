package facts

import (
	"fmt"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
)

// maxLinks is how many symlinks a path may lead through, as in the kernel.
const maxLinks = 40

// trusted resolves the symlinks of a path. It is an error if anybody but root can change the file, or any directory or
// symlink on the way, because that user could choose what root runs and what the facts say.
func trusted(h host.Reader, file string) (string, error) {
	real, left, links := "/", split(file), 0
	if err := checkDir(h, real); err != nil {
		return "", err
	}
	for len(left) > 0 {
		next := path.Join(real, left[0])
		left = left[1:]
		info, err := h.Lstat(next)
		if err != nil {
			return "", err
		}
		if err := requireRoots(next, info); err != nil {
			return "", err
		}
		if !info.IsSymlink() {
			real = next
			continue
		}
		text, err := h.Readlink(next)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s leads through more than %d symlinks", file, maxLinks)
		}
		if path.IsAbs(text) {
			real = "/"
		}
		left = append(split(text), left...)
	}
	return real, nil
}

func checkDir(h host.Reader, dir string) error {
	info, err := h.Lstat(dir)
	if err != nil {
		return err
	}
	return requireRoots(dir, info)
}

// requireRoots returns an error if users other than root can change the file at a path.
func requireRoots(file string, info host.FileInfo) error {
	switch {
	case info.UID != 0:
		return fmt.Errorf("%s belongs to user %d, who could make root run anything: chown root %s", file, info.UID, file)
	case !info.IsSymlink() && info.Mode&0o022 != 0:
		return fmt.Errorf("%s has mode %04o, so users other than root can change it: chmod go-w %s", file, info.Mode, file)
	}
	return nil
}

func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}
