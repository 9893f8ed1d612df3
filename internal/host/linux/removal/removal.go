// Package removal removes files and directory trees that other users may be changing at the same time.
package removal

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host/linux/descriptor"
)

// Remove removes the file, symlink or empty directory with a name in a directory, if there is one.
// A mount point is an error.
func Remove(dir int, name string) error {
	if err := descriptor.RequireNoMount(dir, name); err != nil {
		return err
	}
	err := unix.Unlinkat(dir, name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	return descriptor.Ignore(err, unix.ENOENT)
}
