// Package installed reads the external types that are installed on a host.
package installed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall" //nolint:depguard // the owner of a file is a value of its Stat_t

	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/internal/state"
)

// DefaultDir is the directory of installed types on a host.
const DefaultDir = "/etc/fettle/types.d"

// Read returns the types in the files of a directory, which need not exist if it is the default: "" is [DefaultDir] below
// the root of the host. The faults include files that others than root, or than the user who runs this process, can
// change.
func Read(ctx context.Context, root, dir string) (manifest.Types, []manifest.Fault) {
	byDefault := dir == ""
	var err error
	if byDefault {
		dir, err = state.DirOf(cmp.Or(root, "/"), DefaultDir)
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		_, err = os.Stat(dir)
	}
	if byDefault && errors.Is(err, fs.ErrNotExist) {
		return manifest.Types{}, nil
	}
	var all []source.Source
	if err == nil {
		all, err = source.Loader{}.Expand(source.Request{Files: []string{dir}})
	}
	if err != nil {
		return manifest.Types{}, manifest.SourceFaults(err)
	}
	if err := trusted(all, dir, cmp.Or(root, "/")); err != nil {
		return manifest.Types{}, []manifest.Fault{{Message: err.Error()}}
	}
	return manifest.ReadTypes(ctx, all)
}

// trusted checks the files, the directory, and what is above it up to the root of the host.
func trusted(files []source.Source, dir, root string) error {
	for _, f := range files {
		if err := checkOwner(f.Name); err != nil {
			return err
		}
	}
	for {
		if err := checkOwner(dir); err != nil {
			return err
		}
		above := filepath.Dir(dir)
		if dir == above || dir == root || !strings.HasPrefix(dir, root) {
			return nil
		}
		dir = above
	}
}

// writableByOthers are the permission bits of group and others to write.
const writableByOthers = 0o022

func checkOwner(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("cannot find the owner of %s", name)
	}
	mine := owner.Uid == 0 || int(owner.Uid) == os.Geteuid()
	restricted := info.Mode()&writableByOthers == 0 || info.IsDir() && info.Mode()&fs.ModeSticky != 0
	if !mine || !restricted {
		return fmt.Errorf("external types in %s are not used: others than root can change it: chown it to root, and chmod go-w", name)
	}
	return nil
}
