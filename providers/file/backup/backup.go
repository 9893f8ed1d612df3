// Package backup keeps the content of files that are about to be replaced or removed: in the
// bucket, or beside the file.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	To   string // None, ToBucket or a suffix
	Path string
	// Fits returns an error if a file of this size, in bytes, is not saved.
	Fits func(path string, size int64) error
}

// Check returns why Save would fail, as far as reading tells.
func (b Backup) Check(dir host.Handle, name string, old host.Handle) error {
	if b.To == None {
		return nil
	}
	_, err := b.plan(dir, name, old)
	return Refused(b.Path, err)
}

// Save keeps a regular file, or the files in a directory, as it was opened, wherever it is by
// now. dir and name are where it was. Anything else has no content.
func (b Backup) Save(ctx context.Context, bucket resource.Bucket, dir host.WritableHandle, name string, old host.Handle) error {
	if b.To == None {
		return nil
	}
	p, err := b.plan(dir, name, old)
	if err == nil && p.beside {
		err = b.saveBeside(ctx, bucket, dir, name, old)
	}
	for _, f := range p.files {
		if err == nil {
			err = b.saveInBucket(ctx, bucket, old, f)
		}
	}
	return Refused(b.Path, err)
}

// plan decides what is saved where, before anything is: what can't be saved completely leaves nothing behind.
func (b Backup) plan(dir host.Handle, name string, old host.Handle) (p saving, err error) {
	info := old.Info()
	planted, err := mayBePlanted(dir, info)
	switch {
	case err != nil:
	case info.IsRegular() && (b.To == ToBucket || planted):
		p.files = []file{{".", info.Size}}
	case info.IsRegular():
		p.beside = true
		err = errors.Join(b.Fits(b.Path, info.Size), checkCopy(dir, name+b.To)) // a copy takes as much room anywhere
	case info.IsDir():
		p.files, err = b.filesOf(old)
	}
	for _, f := range p.files {
		if err == nil {
			err = b.Fits(path.Join(b.Path, f.name), f.size)
		}
	}
	return p, err
}

// A saving says where the content goes.
type saving struct {
	beside bool
	files  []file // in the bucket
}

// A file is a regular file to save, by its name relative to what is backed up.
type file struct {
	name string
	size int64
}

// checkCopy returns why there can be no copy with a name.
func checkCopy(dir host.Handle, name string) error {
	there, err := dir.Child(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer there.Close()
	if there.Info().IsDir() {
		return fmt.Errorf("%s is a directory: use another suffix, or backup: Bucket", there.Path())
	}
	return host.CheckProtection(there)
}

// filesOf returns the files in a directory.
func (b Backup) filesOf(top host.Handle) ([]file, error) {
	files, err := filesBelow(top, ".", nil, 0)
	if b.To != ToBucket && len(files) > 0 {
		return nil, errors.New("a suffix is for files, but this is a directory with files in it: use backup: Bucket, or None")
	}
	return files, err
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

func (b Backup) saveBeside(ctx context.Context, bucket resource.Bucket, dir host.WritableHandle, name string, old host.Handle) error {
	info := old.Info()
	if secret, err := bucket.HoldsSecret(ctx, old, b.Path); err != nil || secret {
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

func (b Backup) saveInBucket(ctx context.Context, bucket resource.Bucket, top host.Handle, f file) error {
	if f.name == "." {
		return bucket.Backup(ctx, top, b.Path)
	}
	file, err := top.Child(f.name)
	if err != nil {
		return err
	}
	defer file.Close()
	return bucket.Backup(ctx, file, path.Join(b.Path, f.name))
}

// maxFiles is the maximum number of files backed up from a directory. Removing more should be confirmed
// it.
const maxFiles = 1000

// maxNames is the maximum number of directory names in memory.
const maxNames = 100 * maxFiles

var errTooMany = errors.New("it contains more than 1000 files: remove some by hand, or set backup: None")

// filesBelow adds the regular files in a directory of a tree and those below it, by their
// names relative to the tree. held is how many names of directories above are in memory.
func filesBelow(top host.Handle, dir string, files []file, held int) ([]file, error) {
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
			files = append(files, file{name, info.Size})
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
