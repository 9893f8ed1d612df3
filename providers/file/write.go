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
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

type changes []resource.Change

func (c changes) has(property string) bool {
	return slices.ContainsFunc(c, func(c resource.Change) bool { return c.Property == property })
}

// blame makes an error that of one property, if that is among what is to change;
// else it concerns all.
func (w *write) blame(property string, err error) error {
	switch {
	case err == nil:
		return nil
	case w.changes.has(property):
		return &resource.PropertyError{Property: property, Err: err}
	}
	return cannot("set "+property, err)
}

// resolve finds the numbers of owner and group on the host.
func (w *write) resolve() error {
	var userErr, groupErr error
	w.uid, userErr = user.resolve(w.wide, w.known, w.want.Owner)
	w.gid, groupErr = group.resolve(w.wide, w.known, w.want.Group)
	return errors.Join(w.blame("owner", userErr), w.blame("group", groupErr))
}

// create brings about what ensure says, with everything that belongs to it.
func (w *write) create(ctx context.Context) error {
	if err := errors.Join(w.resolve(), refusal(w.is.found.what, w.want)); err != nil {
		return err
	}
	switch wants(w.want) {
	case string(directory):
		return w.mkdir(ctx)
	case string(link):
		return w.link(ctx)
	}
	return w.file(ctx)
}

// noParent is why nothing can be created where there is no directory.
func noParent(h host.Reader, want Attributes) error {
	dir := path.Dir(want.Path)
	if info, err := h.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("cannot create %s: its parent %s is not a directory: name another path", want.Path, dir)
	}
	return fmt.Errorf("cannot create %s: its parent directory %s does not exist: make it first, with a File that has ensure: directory",
		want.Path, dir)
}

// refusal is why what is there may not go away, nil if it may.
func refusal(what entry, want Attributes) error {
	verb := "replace"
	if wants(want) == resource.Absent {
		verb = "remove"
	}
	switch {
	case what == device:
		return fmt.Errorf("cannot %s %s: it is a device, which only a person may remove: do so by hand, or name another path", verb, want.Path)
	case what == directory && (want.Force == nil || !*want.Force):
		return fmt.Errorf("cannot %s %s: it is a directory: set force: true to delete it with all that is in it", verb, want.Path)
	}
	return nil
}

func (w *write) remove(ctx context.Context) error {
	if w.want.leaving && w.is.found.what == directory && (w.want.Force == nil || !*w.want.Force) {
		return w.rmdir()
	}
	if err := refusal(w.is.found.what, w.want); err != nil {
		return err
	}
	if err := w.clear(ctx); err != nil {
		return err
	}
	return w.forgetSecret(ctx)
}

// clear removes what is there. It is only for what nothing can replace in one step.
func (w *write) clear(ctx context.Context) error {
	if err := w.save(ctx); err != nil {
		return err
	}
	if w.is.found.what == directory {
		return cannot("remove directory", w.gone(w.dir.RemoveAll(w.name)))
	}
	return cannot("remove file", w.gone(w.dir.Remove(w.name, &w.was)))
}

// gone notes that nothing is there any more.
func (w *write) gone(err error) error {
	if err == nil {
		w.was = host.FileInfo{}
	}
	return err
}

func (w *write) mkdir(ctx context.Context) error {
	if w.is.found.what != absent {
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
	return w.settle(made)
}

func (w *write) link(ctx context.Context) error {
	if w.is.found.what == directory {
		if err := w.clear(ctx); err != nil {
			return err
		}
	}
	if w.is.found.what == regular {
		if err := w.save(ctx); err != nil {
			return err
		}
	}
	return w.symlink()
}

// file writes a new file. A directory in its place goes only when the new content
// has passed its check.
func (w *write) file(ctx context.Context) error {
	if w.is.found.what == directory {
		if err := w.rehearse(ctx); err != nil {
			return err
		}
		if err := w.clear(ctx); err != nil {
			return err
		}
	}
	return w.write(ctx, desiredMode(w.want, 0o644, false))
}

// errRehearsed keeps a file that was merely checked from being put in place.
var errRehearsed = errors.New("was merely checked")

// rehearse checks the content beside the path, and leaves nothing there.
func (w *write) rehearse(ctx context.Context) error {
	passes := check(w.wide, w.want)
	if passes == nil {
		return nil
	}
	var verdict error
	err := w.put(ctx, ".fettle-check", host.NewFile{
		UID: max(w.uid, 0), GID: max(w.gid, 0), // not those of a file that a user has put there
		Mode: new(desiredMode(w.want, 0o644, false)),
		Check: func(ctx context.Context, staged string) error {
			verdict = passes(ctx, staged)
			return errRehearsed
		},
	})
	if errors.Is(err, errRehearsed) {
		return cannot("write file", verdict)
	}
	return err
}

// rewrite gives a file new content, and owner and mode with it: new content is at no
// time readable for whom only the old was meant. Where that fails, the old file still gets
// its owner and mode, but for one that its old owner could go on writing to.
func (w *write) rewrite(ctx context.Context, property string) error {
	if w.is.found.what != regular {
		err := fmt.Errorf("%s is a %s, which has no content: set ensure: file to replace it, or remove content", w.want.Path, w.is.found.what)
		return errors.Join(w.blame(property, err), w.settleOld())
	}
	bits, err := w.inheritedBits()
	if err == nil {
		err = w.write(ctx, desiredMode(w.want, bits, false))
	}
	if err == nil || w.changesHands() || errors.Is(err, host.ErrChanged) {
		return w.blame(property, err)
	}
	return errors.Join(w.blame(property, err), w.settleOld())
}

// inheritedBits are the bits of a file that one in its place has too. Without its set-ID
// bits unless nobody could have planted them, and nobody else gets the file.
func (w *write) inheritedBits() (uint32, error) {
	f := w.is.found
	bits := f.mode &^ filemode.SetIDs
	if w.uid != unchanged && w.uid != f.uid || w.gid != unchanged && w.gid != f.gid {
		return bits, nil
	}
	kept, err := filemode.TrustedSetIDs(w.dir, w.was)
	return bits | kept, err
}

// write puts the new file in place. What it replaces is kept when nothing else can
// go wrong: a file that stays as it is needs no copy.
func (w *write) write(ctx context.Context, mode uint32) error {
	passes := check(w.wide, w.want)
	return w.put(ctx, w.name, host.NewFile{UID: w.uid, GID: w.gid, Mode: &mode, Was: &w.was, Prepare: w.relabel, Check: func(ctx context.Context, staged string) error {
		if passes != nil {
			if err := passes(ctx, staged); err != nil {
				return err
			}
		}
		if w.is.found.what != regular {
			return nil
		}
		return w.save(ctx)
	}})
}

func (w *write) put(ctx context.Context, name string, f host.NewFile) error {
	if w.want.secret {
		if err := recordSecrets(ctx, w.wide, []Attributes{w.want}); err != nil {
			return err
		}
	}
	content, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer content.Close()
	f.Content = content
	if _, err = w.dir.WriteFile(ctx, name, f); err != nil {
		return cannot("write file", err)
	}
	return w.forgetSecret(ctx)
}

// relink replaces a link by one with the same owner.
func (w *write) relink() error {
	if w.uid == unchanged {
		w.uid = w.is.found.uid
	}
	if w.gid == unchanged {
		w.gid = w.is.found.gid
	}
	return w.symlink()
}

func (w *write) symlink() error {
	made, err := w.dir.Symlink(*w.want.Target, w.name)
	if err != nil {
		return cannot("make link", err)
	}
	defer made.Close()
	return w.settle(made)
}
