package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/owner"
)

type changes []resource.Change

func (c changes) has(property string) bool {
	return slices.ContainsFunc(c, func(c resource.Change) bool { return c.Property == property })
}

// concurrentWrites is the number of files written at once. Most of the time is spent waiting
// until each is on disk, and many can wait for the same journal commit.
const concurrentWrites = 32

// WriteAll implements [resource.BatchWriter].
func (p posix) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[Attributes]) []error {
	errs := make([]error, 0, len(writes))
	for _, group := range groups(writes) {
		errs = append(errs, resource.Together(len(group), concurrentWrites, func(i int) error {
			if h.Stopped() != nil {
				return resource.ErrNotBegun
			}
			return p.Write(ctx, h, group[i].Is, group[i].Want, group[i].Changes)
		})...)
	}
	return errs
}

// groups returns which files are written at once. A file with a validateCmd is a group of its
// own: the command may read other files, and finds all of those before it and none of those
// after it.
func groups(writes []resource.Write[Attributes]) (all [][]resource.Write[Attributes]) {
	for i, w := range writes {
		alone := w.Want.ValidateCmd != nil || i > 0 && writes[i-1].Want.ValidateCmd != nil
		if alone || i == 0 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], w)
	}
	return all
}

// attempts is the maximum number of attempts if the file changes meanwhile.
const attempts = 5

// Write implements [resource.Provider]. A change of ensure brings all other properties along;
// otherwise each property fails by itself. If the file is no longer the one that was read, it
// is read again and the changes are computed again.
func (p posix) Write(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) (err error) {
	for range attempts {
		err = p.attempt(ctx, h, is, want, changes)
		if !errors.Is(err, host.ErrChanged) {
			return err
		}
		if is, err = p.Read(ctx, h, want); err != nil {
			return err
		}
		if changes = outOfSync(is, want, changes); len(changes) == 0 {
			return nil
		}
	}
	return fmt.Errorf("cannot change %s: %w, %d times in a row: find the other program that changes it", want.Path, host.ErrChanged, attempts)
}

// outOfSync returns the changes that are needed now. Properties that the host does not support
// are not added.
func outOfSync(is, want Attributes, before changes) (now changes) {
	for _, p := range properties() {
		switch {
		case !p.Managed(want), p.Name != resource.Ensure && is.found.kind == entry.Absent, p.InSync(is, want), p.Feature != "" && !before.has(p.Name):
			continue
		}
		now = append(now, resource.Change{Property: p.Name})
		if p.Name == resource.Ensure {
			break
		}
	}
	return now
}

// attempt makes the changes unless the file is not the one that is describes.
func (p posix) attempt(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) error {
	w, err := p.newWriter(h, is, want)
	if err != nil {
		return err
	}
	defer w.close()
	w.changes = changes
	if err := w.edit().refusal(); err != nil {
		return err
	}
	switch {
	case w.changes.has(resource.Ensure) && ensure(want) == resource.Absent:
		return w.remove(ctx)
	case w.changes.has(resource.Ensure):
		return w.create(ctx)
	}
	return w.adjust(ctx)
}

// A writer changes one file from is to want.
type writer struct {
	posix
	host     resource.Writer
	is, want Attributes
	changes  changes
	uid, gid int // owner.Unchanged if they are not managed
	// dir is the directory of the file, name its name there and old the file, nil if there is
	// none.
	dir  host.WritableHandle
	name string
	old  host.WritableHandle
	was  host.FileInfo // of old; zero if there is none, or if it was removed
}

// newWriter opens the entry to change. The caller closes the writer.
func (p posix) newWriter(h resource.Writer, is, want Attributes) (*writer, error) {
	dir, name, err := p.place(h, want).EditParent(h)
	if errors.Is(err, fs.ErrNotExist) && is.found.kind == entry.Absent {
		return nil, noParent(h, want)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, host.ErrChanged
	}
	if err != nil {
		return nil, cannot("open directory of file", err)
	}
	if follows(want) {
		want.Path = path.Join(dir.Path(), name)
	}
	w := &writer{posix: p, host: h, is: is, want: want, uid: owner.Unchanged, gid: owner.Unchanged, dir: dir, name: name}
	if err := w.openOld(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// openOld opens the file if it is still the one that was read.
func (w *writer) openOld() error {
	file, err := w.dir.Edit(w.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && w.is.found.kind == entry.Absent:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return host.ErrChanged
	case err != nil:
		return cannot("look at file", err)
	}
	w.old, w.was = file, file.Info()
	if !w.was.Unchanged(w.is.found.info) {
		return host.ErrChanged
	}
	return nil
}

func (w *writer) close() { w.edit().close() }

func (w *writer) edit() edit {
	e := edit{is: w.is, want: w.want, changes: w.changes, dir: w.dir, name: w.name}
	if w.old != nil {
		e.old = w.old
	}
	return e
}

// adjust changes the present entry.
func (w *writer) adjust(ctx context.Context) error {
	errs := []error{w.resolveOwner()}
	switch {
	case w.changes.has("content"):
		errs = append(errs, w.replaceContent(ctx, "content"))
	case w.edit().takesFromUser() && managesContent(w.want):
		errs = append(errs, w.replaceContent(ctx, "owner"))
	case w.changes.has("target"):
		errs = append(errs, w.propertyError("target", w.replaceLink()))
	case w.edit().takesLink() && managesTarget(w.want):
		errs = append(errs, w.propertyError("owner", w.replaceLink()))
	default:
		errs = append(errs, w.setOldMetadata())
	}
	return errors.Join(errs...)
}

// propertyError attributes an error to one property if that is to change, and otherwise to
// all changes.
func (w *writer) propertyError(property string, err error) error {
	switch {
	case err == nil:
		return nil
	case w.changes.has(property):
		return &resource.PropertyError{Property: property, Err: err}
	}
	return cannot("set "+property, err)
}

// resolveOwner finds the numbers of owner and group on the host.
func (w *writer) resolveOwner() error {
	var userErr, groupErr error
	w.uid, userErr = w.accounts.ID(w.host, owner.User, w.want.Owner)
	w.gid, groupErr = w.accounts.ID(w.host, owner.Group, w.want.Group)
	return errors.Join(w.propertyError("owner", userErr), w.propertyError("group", groupErr))
}
