package descriptor

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

var errConsumed = errors.New("is a file of the kernel that reading can change: it takes messages or traces from other readers")

// requireRepeatable returns an error if reading a file could change what others read. Such files claim to be regular ones.
func requireRepeatable(fd int) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	switch int64(fs.Type) { //nolint:unconvert // it is narrower on other machines
	case unix.TRACEFS_MAGIC, unix.DEBUGFS_MAGIC:
		return errConsumed
	case unix.PROC_SUPER_MAGIC:
		name, err := os.Readlink(Path(fd))
		if err == nil && path.Base(name) == "kmsg" {
			err = errConsumed
		}
		return err
	}
	return nil
}
