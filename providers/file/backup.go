package file

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// What backup can say beside a suffix.
const (
	backupNone   = "None"
	backupBucket = "Bucket"
)

// maxBackup is how many files a directory may hold that is removed with a backup.
// Whoever removes more is better asked whether that is meant.
const maxBackup = 1000

var backupSuffix = regexp.MustCompile(`^[.][A-Za-z0-9._~-]+$`)

func validateBackup(backup *string) error {
	if backup == nil || *backup == backupNone || *backup == backupBucket || backupSuffix.MatchString(*backup) {
		return nil
	}
	return fmt.Errorf("backup %q is none of None, Bucket and a suffix: write a suffix as .bak, of letters, digits, ., _, ~ and -", *backup)
}

// backs is where the old content goes. A content that is not to be shown is not to
// be copied either, unless the resource says so; a secret's predecessor never is, which
// may well be one.
func backs(want Attributes) string {
	switch {
	case want.secret:
		return backupNone
	case want.Backup != nil:
		return *want.Backup
	case discreet(want):
		return backupNone
	}
	return backupBucket
}

// isCopy reports whether a file may be one that was kept beside another. To purge such a
// one would make a copy of it, which the next run would purge in turn.
func isCopy(want Attributes, name string, info host.FileInfo) bool {
	return leavesCopy(want, info) && strings.HasSuffix(name, backs(want))
}

// leavesCopy reports whether what is removed stays beside itself.
func leavesCopy(want Attributes, info host.FileInfo) bool {
	to := backs(want)
	return to != backupNone && to != backupBucket && info.IsRegular()
}

// save keeps what is about to be replaced or removed. Only files have anything to
// keep: a link is its own text.
func (w *write) save(ctx context.Context) error {
	to := backs(w.want)
	if to == backupNone {
		return nil
	}
	var err error
	switch w.is.found.what {
	case regular:
		err = w.saveOpen(ctx, to)
	case directory:
		err = w.saveTree(ctx, to)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot back up %s; will not replace it: %w", w.want.Path, err)
	}
	return nil
}

// saveOpen keeps the file that was opened, wherever it is by now.
func (w *write) saveOpen(ctx context.Context, to string) error {
	kept := w.wide.Bucket()
	if to == backupBucket {
		return kept.Backup(ctx, w.old, w.want.Path)
	}
	if err := kept.Fits(w.want.Path, w.was.Size); err != nil { // beside itself it takes as much
		return err
	}
	if secret, err := kept.HoldsSecret(ctx, w.old, w.want.Path); err != nil || secret {
		return err
	}
	content, err := w.old.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	mode := w.was.Mode &^ filemode.SetIDs
	_, err = w.dir.WriteFile(ctx, w.name+to, host.NewFile{Content: content, UID: w.was.UID, GID: w.was.GID, Mode: &mode})
	return err
}

// saveTree counts before it copies, so that a directory that is too large leaves
// nothing behind.
func (w *write) saveTree(ctx context.Context, to string) error {
	files, err := filesBelow(w.old, ".", nil, 0)
	if to != backupBucket && len(files) > 0 {
		return errors.New("it is a directory with files in it, and a suffix is for files: use backup: Bucket, or None")
	}
	for _, name := range files {
		if err == nil {
			err = w.saveBelow(ctx, name)
		}
	}
	return err
}

// saveBelow keeps a file of the directory that was opened.
func (w *write) saveBelow(ctx context.Context, name string) error {
	file, err := w.old.Child(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return w.wide.Bucket().Backup(ctx, file, path.Join(w.want.Path, name))
}

// maxHeldBackup is how many names of directories on the way are in memory.
const maxHeldBackup = 100 * maxBackup

// filesBelow adds the regular files in a directory of a tree and those below it, by their
// names relative to the tree. held is how many names of directories above are in memory.
func filesBelow(top host.Handle, dir string, files []string, held int) ([]string, error) {
	names, err := namesIn(top, dir)
	if err != nil {
		return nil, err
	}
	if held += len(names); held > maxHeldBackup {
		return nil, errTooMany
	}
	for _, base := range names {
		name := path.Join(dir, base)
		file, err := top.Child(name)
		if err != nil {
			return nil, err
		}
		info := file.Info()
		switch err = file.Close(); {
		case err != nil:
		case info.IsDir():
			files, err = filesBelow(top, name, files, held)
		case info.IsRegular():
			files = append(files, name)
		}
		if err != nil {
			return nil, err
		}
		if len(files) > maxBackup {
			return nil, errTooMany
		}
	}
	return files, nil
}

func namesIn(top host.Handle, dir string) ([]string, error) {
	if dir == "." {
		return top.ReadDir()
	}
	n, err := top.Child(dir)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.ReadDir()
}

var errTooMany = errors.New("it holds more than 1000 files: remove some by hand, or set backup: None")
