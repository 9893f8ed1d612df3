package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// DirOf returns the path on our own file system of a directory of the host with this root. Symlinks
// on its way, including absolute ones, are resolved inside the root. The directory need not exist.
func DirOf(root, dir string) (string, error) {
	path, err := securejoin.SecureJoin(root, dir)
	if err != nil {
		return "", fmt.Errorf("cannot find the state directory %s in %s: %w", dir, root, err)
	}
	return path, nil
}

// freeSpace adds the remedy to the error of a full disk, or of an exceeded quota.
func freeSpace(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: free space in %s", err, dir)
	}
	return err
}

// makeDir creates a directory that only root can access. Missing parents get the usual mode.
func makeDir(dir string) (err error) {
	defer func() { err = freeSpace(filepath.Dir(dir), err) }()
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(dir)
	if err := os.MkdirAll(above, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncDir(above)
}

// ReplaceFile replaces a file atomically by one of mode 0600: after a power loss it has either the old or the new text.
func ReplaceFile(file string, text []byte) error {
	if err := swapFile(file, text, (*os.File).Sync); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// swapFile atomically replaces a file by a new one of mode 0600. finish is called with the new file
// before it takes the place of the old one.
func swapFile(file string, text []byte, finish func(temp *os.File) error) (err error) {
	defer func() { err = freeSpace(filepath.Dir(file), err) }()
	temp, err := os.CreateTemp(filepath.Dir(file), tempPrefix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(text)
	if err = errors.Join(err, finish(temp), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
