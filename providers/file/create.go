package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
	"github.com/fettle-dev/fettle/providers/file/owner"
	"github.com/fettle-dev/fettle/providers/file/validatecmd"
)

// create creates the desired kind of entry, with all other properties.
func (w *writer) create(ctx context.Context) error {
	if err := errors.Join(w.resolveOwner(), removalRefused(w.is.found.kind, w.want)); err != nil {
		return err
	}
	switch ensure(w.want) {
	case string(entry.Directory):
		return w.mkdir(ctx)
	case string(entry.Link):
		return w.link(ctx)
	}
	return w.file(ctx)
}

func (w *writer) remove(ctx context.Context) error {
	if w.edit().deletesDirectory() {
		return w.rmdir()
	}
	if err := removalRefused(w.is.found.kind, w.want); err != nil {
		return err
	}
	if err := w.clear(ctx); err != nil {
		return err
	}
	return w.forgetSecret(ctx)
}

// rmdir removes an empty directory.
func (w *writer) rmdir() error {
	if err := w.edit().requireEmpty(); err != nil {
		return err
	}
	return cannot("remove directory", w.dir.Remove(w.name, nil))
}

// clear removes an entry that can't be replaced in one step.
func (w *writer) clear(ctx context.Context) error {
	if err := w.backUp(ctx); err != nil {
		return err
	}
	var err error
	if w.is.found.kind == entry.Directory {
		err = cannot("remove directory", w.dir.RemoveAll(w.name))
	} else {
		err = cannot("remove file", w.dir.Remove(w.name, &w.was))
	}
	if err == nil {
		w.was = host.FileInfo{}
	}
	return err
}

func (w *writer) backUp(ctx context.Context) error {
	return backupOf(w.host, w.want).Save(ctx, w.host.Bucket(), w.dir, w.name, w.old)
}

func (w *writer) mkdir(ctx context.Context) error {
	if w.is.found.kind != entry.Absent {
		if err := w.clear(ctx); err != nil {
			return err
		}
	}
	made, err := w.dir.Mkdir(w.name, desiredMode(w.want, 0o755, true))
	if errors.Is(err, fs.ErrExist) {
		err = host.ErrChanged
	}
	if err != nil {
		return cannot("make directory", err)
	}
	defer made.Close()
	return w.setMetadata(made)
}

func (w *writer) link(ctx context.Context) error {
	var err error
	switch w.is.found.kind {
	case entry.Directory:
		err = w.clear(ctx)
	case entry.Regular:
		err = w.backUp(ctx)
	default:
	}
	if err != nil {
		return err
	}
	return w.symlink()
}

// replaceLink replaces a link by one with the same owner.
func (w *writer) replaceLink() error {
	if w.uid == owner.Unchanged {
		w.uid = w.is.found.info.UID
	}
	if w.gid == owner.Unchanged {
		w.gid = w.is.found.info.GID
	}
	return w.symlink()
}

func (w *writer) symlink() error {
	made, err := w.dir.Symlink(*w.want.Target, w.name)
	if err != nil {
		return cannot("make link", err)
	}
	defer made.Close()
	return w.setMetadata(made)
}

// file writes a new file. A directory in its place is removed only once the new content is
// complete and has passed its check.
func (w *writer) file(ctx context.Context) error {
	if w.is.found.kind == entry.Directory {
		if err := w.checkOnly(ctx); err != nil {
			return err
		}
		if err := w.clear(ctx); err != nil {
			return err
		}
	}
	return w.writeFile(ctx, newFileMode(w.is, w.want))
}

// errChecked keeps a file that was only checked from being put in place.
var errChecked = errors.New("the content was only validated")

// checkOnly reads and checks the content beside the path, and leaves nothing there.
func (w *writer) checkOnly(ctx context.Context) error {
	if w.want.ValidateCmd == nil && w.want.Source == nil {
		return nil
	}
	var invalid error
	err := w.put(ctx, ".fettle-check", host.NewFile{
		UID: max(w.uid, 0), GID: max(w.gid, 0), // not those of a file that a user has put there
		Mode: new(newFileMode(w.is, w.want)),
		Check: func(ctx context.Context, staged string) error {
			invalid = w.check(ctx, staged)
			return errChecked
		},
	})
	if errors.Is(err, errChecked) {
		return cannot("write file", invalid)
	}
	return err
}

// check runs validateCmd, if there is one, on a staged file.
func (w *writer) check(ctx context.Context, staged string) error {
	if w.want.ValidateCmd == nil {
		return nil
	}
	c := validatecmd.Check{Command: *w.want.ValidateCmd, Path: w.want.Path}
	switch {
	case w.want.secret:
		c.Hide = "the content is a secret"
	case hidesContent(w.want):
		c.Hide = "of showDiff: false"
	}
	return c.Run(ctx, w.host, staged)
}

// replaceContent replaces a file, with its owner and mode: new content is never readable by
// those for whom only the old one was meant. If that fails, the old file still gets its owner
// and mode, unless its old owner could go on writing to it.
func (w *writer) replaceContent(ctx context.Context, property string) error {
	if err := noContent(w.is.found.kind, w.want); err != nil {
		return errors.Join(w.propertyError(property, err), w.setOldMetadata())
	}
	bits, err := w.inheritedMode()
	if err == nil {
		err = w.writeFile(ctx, desiredMode(w.want, bits, false))
	}
	if err == nil || w.edit().takesFromUser() || errors.Is(err, host.ErrChanged) || errors.Is(err, resource.ErrNotBegun) {
		return w.propertyError(property, err)
	}
	return errors.Join(w.propertyError(property, err), w.setOldMetadata())
}

// inheritedMode returns the mode that a new file takes over from the old one. It has no set-ID
// bits unless only root can have set them and the owner stays the same.
func (w *writer) inheritedMode() (uint32, error) {
	bits := w.is.found.info.Mode &^ filemode.SetIDs
	if w.changesOwner() {
		return bits, nil
	}
	trusted, err := filemode.TrustedSetIDs(w.dir, w.was)
	return bits | trusted, err
}

// writeFile puts the new file in place. It backs up the old one last, when nothing else can go
// wrong: a file that stays as it is needs no copy.
func (w *writer) writeFile(ctx context.Context, mode uint32) error {
	return w.put(ctx, w.name, host.NewFile{UID: w.uid, GID: w.gid, Mode: &mode, Was: &w.was, Prepare: w.setLabel, Check: func(ctx context.Context, staged string) error {
		err := w.check(ctx, staged)
		if err != nil || w.is.found.kind != entry.Regular {
			return err
		}
		return w.backUp(ctx)
	}})
}

func (w *writer) put(ctx context.Context, name string, f host.NewFile) error {
	if w.want.secret {
		if err := recordSecrets(ctx, w.host, []Attributes{w.want}); err != nil {
			return err
		}
	}
	content, err := w.openContent(ctx)
	if err != nil {
		return err
	}
	defer content.Close()
	f.Content = content
	if w.is.found.kind != entry.Directory { // which was removed before
		f.Content = untilStopped{content, w.host}
	}
	if _, err = w.dir.WriteFile(ctx, name, f); err != nil {
		return cannot("write file", err)
	}
	return w.forgetSecret(ctx)
}

// untilStopped reads content until the run has to stop. What was written until then is discarded.
type untilStopped struct {
	io.Reader
	run resource.Writer
}

func (r untilStopped) Read(p []byte) (int, error) {
	if r.run.Stopped() != nil {
		return 0, resource.ErrNotBegun
	}
	return r.Reader.Read(p)
}

// openContent opens the content to write; it is empty if none is managed.
func (w *writer) openContent(ctx context.Context) (io.ReadCloser, error) {
	switch {
	case w.want.Content != nil:
		return io.NopCloser(strings.NewReader(*w.want.Content)), nil
	case w.want.Source == nil:
		return io.NopCloser(strings.NewReader("")), nil
	}
	if err := w.sources.CheckTime(ctx, w.host, sourceOf(w.want), w.now()); err != nil {
		return nil, err
	}
	return w.sources.Open(ctx, w.host, sourceOf(w.want), w.is.found.source)
}
