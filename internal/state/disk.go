package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// DirOf is where a directory of the host with this root is on our own file system, so
// that symlinks on its way, absolute ones too, lead to where they do on that host. It
// need not exist.
func DirOf(root, dir string) (string, error) {
	path, err := securejoin.SecureJoin(root, dir)
	if err != nil {
		return "", fmt.Errorf("cannot find the state directory %s in %s: %w", dir, root, err)
	}
	return path, nil
}

// makeDir makes a directory for root's eyes alone; those above it, if they are
// missing, are as usual.
func makeDir(dir string) error {
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

// replaceFile writes a file so that there is the old text or the new, whenever the
// power goes.
func replaceFile(file string, text []byte) error {
	if err := swapFile(file, text, (*os.File).Sync); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// swapFile puts a new file, of mode 0600, in the place of another in one step. finish has
// the last word before that.
func swapFile(file string, text []byte, finish func(temp *os.File) error) (err error) {
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
