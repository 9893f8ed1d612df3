package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// attempts is how often a change is decided anew because the file changes meanwhile.
const attempts = 5

// Write implements [resource.Provider]. What ensure makes has everything else at
// once; otherwise each property fails by itself. When the file is no longer what the changes
// were decided by, it is read again and they are decided anew.
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
	return fmt.Errorf("cannot change %s: %w, %d times in a row: find out what else changes it", want.Path, host.ErrChanged, attempts)
}

// outOfSync is what is to change by now. Properties that the host does not have are left out
// as they were.
func outOfSync(is, want Attributes, were changes) (now changes) {
	for _, p := range properties() {
		switch {
		case !p.Managed(want), p.Name != resource.Ensure && is.found.what == absent, p.InSync(is, want), p.Feature != "" && !were.has(p.Name):
			continue
		}
		now = append(now, resource.Change{Property: p.Name})
		if p.Name == resource.Ensure {
			break
		}
	}
	return now
}

// attempt makes the changes unless the file is another than is tells of.
func (p posix) attempt(ctx context.Context, h resource.Writer, is, want Attributes, changes []resource.Change) error {
	w, err := p.begin(h, is, want)
	if err != nil {
		return err
	}
	defer w.end()
	w.changes = changes
	switch {
	case w.changes.has(resource.Ensure) && wants(want) == resource.Absent:
		return w.remove(ctx)
	case w.changes.has(resource.Ensure):
		return w.create(ctx)
	}
	return w.adjust(ctx)
}

// A write is one resource on its way from is to want.
type write struct {
	posix
	wide     resource.Writer
	is, want Attributes
	changes  changes
	uid, gid int // unchanged where they are not managed
	// dir is where the path is, name the name in it and old what has it, nil for nothing.
	dir  host.WritableHandle
	name string
	old  host.WritableHandle
	was  host.FileInfo // of old; zero where there is nothing, or nothing any more
}

// begin opens what is to be changed. The caller ends it.
func (p posix) begin(h resource.Writer, is, want Attributes) (*write, error) {
	dir, name, err := p.editParent(h, want)
	if errors.Is(err, fs.ErrNotExist) && is.found.what == absent {
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
	w := &write{posix: p, wide: h, is: is, want: want, uid: unchanged, gid: unchanged, dir: dir, name: name}
	if err := w.openOld(); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

// openOld opens the file if it is still the one that was read.
func (w *write) openOld() error {
	file, err := w.dir.Edit(w.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && w.is.found.what == absent:
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

func (w *write) end() {
	_ = w.dir.Close()
	if w.old != nil {
		_ = w.old.Close()
	}
}

// adjust changes what is there.
func (w *write) adjust(ctx context.Context) error {
	errs := []error{w.resolve()}
	switch {
	case w.changes.has("content"):
		errs = append(errs, w.rewrite(ctx, "content"))
	case w.changesHands() && contentProperty().Managed(w.want):
		errs = append(errs, w.rewrite(ctx, "owner"))
	case w.changes.has("target"):
		errs = append(errs, w.blame("target", w.relink()))
	default:
		errs = append(errs, w.settleOld())
	}
	return errors.Join(errs...)
}
