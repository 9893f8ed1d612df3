package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/backup"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// An edit is a write together with the files that it concerns. It has the rules about these files, for plans and for applies.
type edit struct {
	is, want Attributes
	changes  changes
	dir      host.Handle
	name     string      // in dir
	old      host.Handle // nil if there is no file
}

// openEdit opens the files for a plan; ok is false if the directory does not exist. The caller closes the edit.
func (p posix) openEdit(h resource.Reader, w resource.Write[Attributes]) (e edit, ok bool, err error) {
	e = edit{is: w.Is, want: w.Want, changes: w.Changes}
	e.dir, e.name, err = p.place(h, w.Want).LookupParent(h)
	if err != nil {
		return e, false, ignoreMissing(err) // which is for precheckParent
	}
	if w.Is.found.kind == entry.Absent {
		return e, true, nil
	}
	if e.old, err = e.dir.Child(e.name); err != nil {
		return e, false, errors.Join(ignoreMissing(err), e.dir.Close())
	}
	return e, true, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (e edit) close() {
	_ = e.dir.Close()
	if e.old != nil {
		_ = e.old.Close()
	}
}

// precheck returns what would make the write fail because of these files.
func (e edit) precheck(ctx context.Context, h resource.Reader) error {
	errs := []error{e.refusal()}
	if e.old != nil {
		errs = append(errs, e.precheckOld(ctx, h))
	}
	return errors.Join(errs...)
}

func (e edit) precheckOld(ctx context.Context, h resource.Reader) error {
	switch {
	case e.deletesDirectory():
		return e.requireEmpty()
	case !e.replaces():
		return errors.Join(e.unsafeMode(), e.hardLink())
	case e.stays():
		return nil
	}
	if err := e.requireNoMount(); err != nil {
		return err
	}
	return errors.Join(e.precheckBackup(h), e.precheckClear(ctx))
}

// stays reports whether the file stays because it must not be replaced, which the attributes tell.
func (e edit) stays() bool {
	if e.changes.has(resource.Ensure) {
		return removalRefused(e.is.found.kind, e.want) != nil
	}
	return e.changes.has("content") && noContent(e.is.found.kind, e.want) != nil
}

// requireNoMount rejects the replacement or removal of what is a mount point.
func (e edit) requireNoMount() error {
	mounted, err := e.old.Mounted()
	if mounted {
		return fmt.Errorf("%s is a mount point: unmount it first", e.want.Path)
	}
	return err
}

// precheckBackup considers what is backed up before a replacement.
func (e edit) precheckBackup(h resource.Reader) error {
	if e.is.found.kind == entry.Link {
		return nil
	}
	return backupOf(h, e.want).Check(e.dir, e.name, e.old)
}

func backupOf(h resource.Reader, want Attributes) backup.Backup {
	return backup.Backup{To: backupTo(want), Path: want.Path, Fits: h.FitsBucket}
}

// precheckClear considers that a directory is removed with everything in it.
func (e edit) precheckClear(ctx context.Context) error {
	if e.is.found.kind != entry.Directory {
		return nil
	}
	return cannot("remove directory", e.old.RemovalRefusal(func(int) error { return ctx.Err() }))
}

// replaces reports whether another file takes the place of the present one, or none.
func (e edit) replaces() bool {
	return e.changes.has(resource.Ensure) || e.changes.has("content") || e.changes.has("target") ||
		e.takesFromUser() && managesContent(e.want) || e.takesLink() && managesTarget(e.want)
}

// takesFromUser reports whether a user's file is to get another owner. That user may have it
// open, and could go on writing to it.
func (e edit) takesFromUser() bool {
	return e.is.found.kind == entry.Regular && e.is.found.info.UID != 0 && (e.changes.has("owner") || e.changes.has("group"))
}

// takesLink reports whether a user's symlink is to get another owner. Its target is then what the user decided, so that only
// a new symlink can belong to somebody else.
func (e edit) takesLink() bool {
	return e.is.found.kind == entry.Link && !e.is.found.info.OwnedByRoot() && e.changes.has("owner")
}

// refusal returns why not even root can make the changes.
func (e edit) refusal() error {
	if e.replaces() {
		if err := cmp.Or(e.requireOrdinary(), host.CheckProtection(e.dir)); err != nil {
			return err
		}
	}
	if e.old == nil {
		return nil
	}
	return host.CheckProtection(e.old)
}

// requireOrdinary rejects the creation, replacement and removal of files that only the kernel makes. Directories are left to the kernel.
func (e edit) requireOrdinary() error {
	if ensure(e.want) == string(entry.Directory) || e.is.found.kind == entry.Directory {
		return nil
	}
	kernels, err := e.dir.OnKernelFS()
	if kernels {
		return fmt.Errorf("%s is in a file system whose files only the kernel makes: write into it by an Exec", e.want.Path)
	}
	return cannot("look at directory", err)
}

// deletesDirectory reports whether a directory is removed with its resource, and without force, which removes only an empty one.
func (e edit) deletesDirectory() bool {
	return e.want.deleting && e.changes.has(resource.Ensure) && e.is.found.kind == entry.Directory && !ptr.Deref(e.want.Force, false)
}

func (e edit) requireEmpty() error {
	names, err := e.old.ReadDir()
	if err == nil && len(names) > 0 {
		return fmt.Errorf("cannot remove directory %s: it contains files that its resource did not manage, such as %q: move them away", e.want.Path, names[0])
	}
	return cannot("remove directory", err)
}

// unsafeMode returns an error if the present file must not get its mode.
func (e edit) unsafeMode() error {
	if !e.takesFromUser() || e.want.Mode == nil || desiredMode(e.want, e.is.found.base(), false)&filemode.SetIDs == 0 {
		return nil
	}
	return fmt.Errorf("%s belongs to user %d, who may have it open and could change what would run with the rights of another: "+
		"manage its content too, or remove it so that it is created again", e.want.Path, e.is.found.info.UID)
}

// hardLink returns an error about a file that keeps its owner and mode, as [host.WritableHandle] does.
func (e edit) hardLink() error {
	if e.old.Info().IsDir() || e.old.Info().Nlink == 1 {
		return nil
	}
	only, err := e.dir.OnlyRootWrote()
	if err == nil && !only {
		err = &host.HardLinkError{Path: e.old.Path()}
	}
	return err
}
