package walk

import (
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// purge visits an entry to be removed that only the host has, unless it is a mount or
// something in it stays. A directory comes after its entries, so that each file is reported
// and backed up.
func (w *Walk) purge(l level, p string, here host.FileInfo) (stays bool, err error) {
	if managed, err := w.managedByAnotherPath(p); managed || err != nil {
		return true, err
	}
	mounted, err := w.mounted(l, p)
	if err != nil {
		return true, err
	}
	if mounted {
		return true, w.keep(l, p, here)
	}
	if here.IsDir() {
		l.from = ""
		if stays, err = w.below(l, p, identityOf(here)); err != nil {
			return true, err
		}
		if stays || w.Others.above[w.Managed.path(p)] {
			return true, w.visit(w.entry(p, Kept))
		}
	}
	// If this entry can't be removed, the directories above it are not tried.
	return !w.Removable(entry.KindOf(here)) || w.leavesCopy(here), w.visit(w.entry(p, Purged))
}

// managedByAnotherPath reports whether another resource manages an entry by another path.
func (w *Walk) managedByAnotherPath(name string) (bool, error) {
	dir := w.Managed.tree.Top
	if in := path.Dir(name); in != "." {
		file, err := w.Managed.openTarget(in)
		if err != nil {
			return true, cannotLook("directory", err)
		}
		dir = file.Info()
		_ = file.Close()
	}
	return w.Others.manageIdentity(host.Identity(dir, path.Base(name))), nil
}

// mounted only examines directories in which something may be purged.
func (w *Walk) mounted(l level, p string) (bool, error) {
	if !l.purge {
		return false, nil
	}
	mounted, err := w.Managed.mounted(p)
	return mounted, cannotLook("mount", err)
}

// isCopy reports whether an entry may be the copy of a file that was removed.
func (w *Walk) isCopy(name string, info host.FileInfo) bool {
	return w.leavesCopy(info) && strings.HasSuffix(name, w.CopySuffix)
}

// leavesCopy reports whether an entry stays as a copy when it is removed.
func (w *Walk) leavesCopy(info host.FileInfo) bool { return w.CopySuffix != "" && info.IsRegular() }
