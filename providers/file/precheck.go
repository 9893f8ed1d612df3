package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/owner"
	"github.com/fettle-dev/fettle/providers/file/source"
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
	if err := p.doubtLink(h, w.Want); err != nil {
		return err
	}
	changes := changes(w.Changes)
	creates := changes.has(resource.Ensure)
	if creates && ensure(w.Want) == resource.Absent {
		return errors.Join(precheckRemoval(w), p.precheckEdit(ctx, h, w))
	}
	errs := []error{p.precheckEdit(ctx, h, w)}
	if creates {
		errs = append(errs, removalRefused(w.Is.found.kind, w.Want), p.precheckParent(h, w.Want))
	}
	if err := noContent(w.Is.found.kind, w.Want); err != nil && !creates && changes.has("content") {
		errs = append(errs, &resource.PropertyError{Property: "content", Err: err})
	}
	if creates || changes.has("content") {
		errs = append(errs, p.precheckSource(ctx, h, w.Want), decidedOutside(w.Want))
	}
	return errors.Join(append(errs, p.precheckOwners(h, w))...)
}

func (p posix) precheckOwners(h resource.Reader, w resource.Write[Attributes]) error {
	changes := changes(w.Changes)
	creates := changes.has(resource.Ensure)
	var errs []error
	if creates || changes.has("owner") {
		errs = append(errs, p.accounts.Check(h, owner.User, w.Want.Owner), precheckLink(w))
	}
	if creates || changes.has("group") {
		errs = append(errs, p.accounts.Check(h, owner.Group, w.Want.Group))
	}
	return errors.Join(errs...)
}

// precheckEdit considers the directory and the file as they are now, unless the plan would have replaced the directory.
func (p posix) precheckEdit(ctx context.Context, h resource.Reader, w resource.Write[Attributes]) error {
	if _, planned := p.plannedParent(h, w.Want); planned {
		return nil
	}
	e, ok, err := p.openEdit(h, w)
	if err != nil || !ok {
		return err
	}
	defer e.close()
	return e.precheck(ctx, h)
}

// precheckRemoval considers that an empty directory is deleted without force.
func precheckRemoval(w resource.Write[Attributes]) error {
	if w.Want.deleting {
		return nil
	}
	return removalRefused(w.Is.found.kind, w.Want)
}

// decidedOutside returns what decides whether content can be written; nil if nothing but the host does.
func decidedOutside(want Attributes) error {
	switch {
	case want.ValidateCmd != nil:
		return &resource.UnknownError{Reason: "runs validateCmd"}
	case want.Source != nil && source.IsURL(*want.Source):
		return &resource.UnknownError{Reason: "downloads its source"}
	}
	return nil
}

func (p posix) precheckParent(h resource.Reader, want Attributes) error {
	if kind, planned := p.plannedParent(h, want); planned {
		return noPlannedParent(h, want, kind)
	}
	dir, _, err := p.place(h, want).LookupParent(h)
	if errors.Is(err, fs.ErrNotExist) {
		return missing("File", path.Dir(want.Path), noParent(h, want))
	}
	if err != nil {
		return cannot("open directory of file", err)
	}
	return cannot("close directory of file", dir.Close())
}

// plannedParent returns what the plan would make of the parent directory.
func (p posix) plannedParent(h resource.Reader, want Attributes) (kind entry.Kind, planned bool) {
	switch made, planned := p.accounts.PlannedHome(h, path.Dir(want.Path)); {
	case planned && made:
		return entry.Directory, true
	case planned:
		return entry.Absent, true
	}
	return plannedKind(h, path.Dir(want.Path))
}

// noPlannedParent returns why the parent that is planned can't hold a file; nil if it can.
func noPlannedParent(h resource.Reader, want Attributes, kind entry.Kind) error {
	switch kind {
	case entry.Absent:
		return noParent(h, want)
	case entry.Regular:
		return parentNoDirectory(want)
	case entry.Directory, entry.Link, entry.FIFO, entry.Socket, entry.Device: // see doubtPath; no File makes one of the last three
	}
	return nil
}

// precheckLink rejects a new owner of a user's symlink, as [host.WritableHandle] does, unless the symlink is created again.
func precheckLink(w resource.Write[Attributes]) error {
	info := w.Is.found.info
	replaced := changes(w.Changes).has(resource.Ensure) || managesTarget(w.Want)
	if w.Is.found.kind != entry.Link || info.OwnedByRoot() || replaced {
		return nil
	}
	return &resource.PropertyError{Property: "owner", Err: &host.ForeignLinkError{Path: w.Want.Path, UID: info.UID}}
}

func (p posix) precheckSource(ctx context.Context, h resource.Reader, want Attributes) error {
	if want.Source == nil || ptr.Deref(want.Recurse, false) || ensure(want) == string(entry.Directory) {
		return nil
	}
	return errors.Join(p.sources.Precheck(ctx, h, sourceOf(want)), p.sources.CheckTime(ctx, h, sourceOf(want), p.now()))
}

// missing returns an error about something that the run may yet create.
func missing(kind, name string, err error) error {
	return &resource.MissingError{Kind: kind, Name: name, Err: err}
}

// noParent returns the error of creating something without a parent directory.
func noParent(h resource.Reader, want Attributes) error {
	dir := path.Dir(want.Path)
	switch info, err := h.Stat(dir); {
	case err == nil && !info.IsDir():
		return parentNoDirectory(want)
	case err == nil && follows(want):
		return fmt.Errorf("cannot create the target of %s: its directory does not exist: create it first, with a File that has ensure: directory", want.Path)
	}
	return fmt.Errorf("cannot create %s: its parent directory %s does not exist: create it first, with a File that has ensure: directory",
		want.Path, dir)
}

func parentNoDirectory(want Attributes) error {
	return fmt.Errorf("cannot create %s: its parent %s is not a directory: use another path", want.Path, path.Dir(want.Path))
}
