package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/backup"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/owner"
)

// Precheck implements [resource.Prechecker]: it finds a directory in the way and a missing
// parent, account or source.
func (p posix) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		errs[i] = p.precheck(ctx, h, w)
	}
	return errs
}

func (p posix) precheck(ctx context.Context, h resource.Reader, w resource.Write[Attributes]) error {
	changes := changes(w.Changes)
	creates := changes.has(resource.Ensure)
	if creates && ensure(w.Want) == resource.Absent {
		return errors.Join(precheckRemoval(w), precheckBackup(h, w))
	}
	errs := []error{precheckBackup(h, w)}
	if creates {
		errs = append(errs, removalRefused(w.Is.found.kind, w.Want), p.precheckParent(h, w.Want))
	}
	if creates || changes.has("owner") {
		errs = append(errs, p.precheckAccount(h, owner.User, w.Want.Owner), precheckLink(w))
	}
	if creates || changes.has("group") {
		errs = append(errs, p.precheckAccount(h, owner.Group, w.Want.Group))
	}
	if creates || changes.has("content") {
		errs = append(errs, p.precheckSource(ctx, h, w.Want))
	}
	return errors.Join(errs...)
}

// precheckBackup rejects the replacement of a file that is too large to be backed up.
func precheckBackup(h resource.Reader, w resource.Write[Attributes]) error {
	changes, is := changes(w.Changes), w.Is.found
	replaced := changes.has(resource.Ensure) || changes.has("content")
	if to := backupTo(w.Want); is.kind != entry.Regular || !replaced || to == backup.None {
		return nil
	}
	return backup.Refused(w.Want.Path, h.FitsBucket(w.Want.Path, is.info.Size))
}

// precheckRemoval considers that an empty directory is deleted without force.
func precheckRemoval(w resource.Write[Attributes]) error {
	if w.Want.deleting {
		return nil
	}
	return removalRefused(w.Is.found.kind, w.Want)
}

func (p posix) precheckParent(h resource.Reader, want Attributes) error {
	dir, err := p.place(h, want).LookupParent(h)
	if errors.Is(err, fs.ErrNotExist) {
		return missing("File", path.Dir(want.Path), noParent(h, want))
	}
	if err != nil {
		return cannot("open directory of file", err)
	}
	return cannot("close directory of file", dir.Close())
}

// precheckLink rejects a new owner of a user's symlink, as [host.WritableHandle] does, unless the symlink is created again.
func precheckLink(w resource.Write[Attributes]) error {
	info := w.Is.found.info
	replaced := changes(w.Changes).has(resource.Ensure) || managesTarget(w.Want)
	if w.Is.found.kind != entry.Link || info.IsRoots() || replaced {
		return nil
	}
	return &resource.PropertyError{Property: "owner", Err: &host.ForeignLinkError{Path: w.Want.Path, UID: info.UID}}
}

// precheckAccount considers that a user may come with a group of its name.
func (p posix) precheckAccount(h resource.Reader, kind owner.Kind, want *intstr.IntOrString) error {
	_, err := p.accounts.ID(h, kind, want)
	switch {
	case err == nil:
		return nil
	case kind == owner.User:
		return missing("User", want.StrVal, err)
	}
	return missing("Group", want.StrVal, missing("User", want.StrVal, err))
}

func (p posix) precheckSource(ctx context.Context, h resource.Reader, want Attributes) error {
	if want.Source == nil || ptr.Deref(want.Recurse, false) || ensure(want) == string(entry.Directory) {
		return nil
	}
	return p.sources.Precheck(ctx, h, sourceOf(want))
}

// missing returns an error about something that the run may yet create.
func missing(kind, name string, err error) error {
	return &resource.MissingError{Kind: kind, Name: name, Err: err}
}

// noParent returns the error of creating something without a parent directory.
func noParent(h resource.Reader, want Attributes) error {
	dir := path.Dir(want.Path)
	if info, err := h.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("cannot create %s: its parent %s is not a directory: use another path", want.Path, dir)
	}
	return fmt.Errorf("cannot create %s: its parent directory %s does not exist: create it first, with a File that has ensure: directory",
		want.Path, dir)
}
