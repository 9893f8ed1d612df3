package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// copyOfRoot calls a function with the root of an overlay over this machine's files. Changes go to memory, and are lost.
func copyOfRoot(use func(root string) error) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("cannot make a copy of this machine's files: run fettle as root")
	}
	dir, err := os.MkdirTemp("", "fettle-copy-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NODEV, "size=256m,mode=0700"); err != nil {
		return fmt.Errorf("cannot make a copy of this machine's files: cannot mount memory: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(dir, unix.MNT_DETACH)) }()
	root, upper, work := filepath.Join(dir, "root"), filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, name := range []string{root, upper, work} {
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+upper+",workdir="+work); err != nil {
		return fmt.Errorf("cannot make a copy of this machine's files: cannot mount an overlay: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(root, unix.MNT_DETACH)) }()
	return use(root)
}
