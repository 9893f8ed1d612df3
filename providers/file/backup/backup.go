// Package backup keeps the content of files that are about to be replaced or removed: in the
// bucket, or beside the file.
package backup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// Destinations beside a suffix.
const (
	None     = "None"
	ToBucket = "Bucket"
)

var suffix = regexp.MustCompile(`^[.][A-Za-z0-9._~-]+$`)

// Validate rejects anything but a destination. nil is the default.
func Validate(to *string) error {
	if to == nil || *to == None || *to == ToBucket || suffix.MatchString(*to) {
		return nil
	}
	return fmt.Errorf("backup %q is neither None nor Bucket nor a suffix: write a suffix as .bak, of letters, digits, ., _, ~ and -", *to)
}

// Suffix returns the suffix of a copy beside the file, or "" if the destination is
// elsewhere.
func Suffix(to string) string {
	if to == None || to == ToBucket {
		return ""
	}
	return to
}

// A Backup saves one path.
type Backup struct {
	To     string // None, ToBucket or a suffix
	Path   string
	Bucket resource.Bucket
}

// Save keeps a regular file, or the files in a directory, as it was opened, wherever it is by
// now. dir and name are where it was. Anything else has no content.
func (b Backup) Save(ctx context.Context, dir host.WritableHandle, name string, old host.Handle) error {
	if b.To == None {
		return nil
	}
	planted, err := mayBePlanted(dir, old.Info())
	switch info := old.Info(); {
	case err != nil:
	case info.IsRegular() && (b.To == ToBucket || planted):
		err = b.Bucket.Backup(ctx, old, b.Path)
	case info.IsRegular():
		err = b.saveBeside(ctx, dir, name, old)
	case info.IsDir():
		err = b.saveTree(ctx, old)
	}
	return Refused(b.Path, err)
}

// mayBePlanted reports whether a file has other names, and a user may have made the one in this directory. A copy beside it would
// be a file with one name, of content that the user need not be allowed to read.
func mayBePlanted(dir host.Handle, info host.FileInfo) (bool, error) {
	if !info.IsRegular() || info.Nlink < 2 {
		return false, nil
	}
	only, err := dir.OnlyRootWrites()
	return !only, err
}

// Refused is the error of a file that is not replaced because it can't be backed up; nil if err is.
func Refused(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot back up %s; will not replace it: %w", path, err)
}

// saveBeside applies the size limit of the bucket: a copy takes as much room anywhere.
func (b Backup) saveBeside(ctx context.Context, dir host.WritableHandle, name string, old host.Handle) error {
	info := old.Info()
	if err := b.Bucket.Fits(b.Path, info.Size); err != nil {
		return err
	}
	if secret, err := b.Bucket.HoldsSecret(ctx, old, b.Path); err != nil || secret {
		return err
	}
	content, err := old.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	mode := info.Mode &^ filemode.SetIDs
	_, err = dir.WriteFile(ctx, name+b.To, host.NewFile{Content: content, UID: info.UID, GID: info.GID, Mode: &mode})
	return err
}

// saveTree counts the files before it copies any, so that a directory with too many of them
// leaves nothing behind.
func (b Backup) saveTree(ctx context.Context, top host.Handle) error {
	files, err := filesBelow(top, ".", nil, 0)
	if b.To != ToBucket && len(files) > 0 {
		return errors.New("a suffix is for files, but this is a directory with files in it: use backup: Bucket, or None")
	}
	for _, name := range files {
		if err == nil {
			err = b.saveBelow(ctx, top, name)
		}
	}
	return err
}

func (b Backup) saveBelow(ctx context.Context, top host.Handle, name string) error {
	file, err := top.Child(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return b.Bucket.Backup(ctx, file, path.Join(b.Path, name))
}

// maxFiles is the maximum number of files backed up from a directory. Removing more should be confirmed
// it.
const maxFiles = 1000

// maxNames is the maximum number of directory names in memory.
const maxNames = 100 * maxFiles

var errTooMany = errors.New("it contains more than 1000 files: remove some by hand, or set backup: None")

// filesBelow adds the regular files in a directory of a tree and those below it, by their
// names relative to the tree. held is how many names of directories above are in memory.
func filesBelow(top host.Handle, dir string, files []string, held int) ([]string, error) {
	names, err := namesIn(top, dir)
	if err != nil {
		return nil, err
	}
	if held += len(names); held > maxNames {
		return nil, errTooMany
	}
	for _, base := range names {
		name := path.Join(dir, base)
		info, err := infoOf(top, name)
		switch {
		case err != nil:
		case info.IsDir():
			files, err = filesBelow(top, name, files, held)
		case info.IsRegular():
			files = append(files, name)
		}
		if err != nil {
			return nil, err
		}
		if len(files) > maxFiles {
			return nil, errTooMany
		}
	}
	return files, nil
}

func infoOf(top host.Handle, name string) (host.FileInfo, error) {
	file, err := top.Child(name)
	if err != nil {
		return host.FileInfo{}, err
	}
	return file.Info(), file.Close()
}

func namesIn(top host.Handle, dir string) ([]string, error) {
	if dir == "." {
		return top.ReadDir()
	}
	file, err := top.Child(dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.ReadDir()
}
