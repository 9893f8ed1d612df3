package accounts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
)

// The files of subordinate numbers, which the tools change only where they exist.
const (
	SubUIDFile = "/etc/subuid"
	SubGIDFile = "/etc/subgid"
)

// CheckEditable returns an error if the tools can't change one of these files. Some may not exist. The tools open them all before
// they change any, write new ones beside them, and follow no symlink.
func CheckEditable(h host.Reader, files ...string) error {
	for _, file := range append([]string{path.Dir(PasswdFile)}, files...) {
		if err := checkEditable(h, file); err != nil {
			return err
		}
	}
	return nil
}

func checkEditable(h host.Reader, file string) error {
	f, err := h.Lookup(file, host.Links{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at %s: %w", file, err)
	}
	defer f.Close()
	if f.Info().IsSymlink() {
		return fmt.Errorf("%s is a symlink, through which the tools change no accounts: replace it by its target", file)
	}
	return host.CheckProtection(f)
}

// CheckUnique returns an error if one of these files has several lines of a name: the tools change none of them then. A file that can't
// be read counts as right.
func CheckUnique(h host.Reader, name string, files ...string) error {
	for _, file := range files {
		data, err := read(h, file)
		if errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return err
		}
		lines := 0
		for f := range entries(data, 2) {
			if f[0] == name {
				lines++
			}
		}
		if lines > 1 {
			return fmt.Errorf("%s has %d lines of %s, which the tools refuse to change: remove all but one", file, lines, name)
		}
	}
	return nil
}
