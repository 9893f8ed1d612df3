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
)

// Write implements [resource.Provider]. What ensure makes has everything else at
// once; otherwise each property fails by itself.
func (p posix) Write(ctx context.Context, h host.Host, is, want Attributes, changes []resource.Change) error {
	at, err := place(h, want)
	if err != nil {
		return cannot("follow link", err)
	}
	want.Path = at
	w := write{posix: p, h: door(h, want), wide: h, is: is, want: want, changes: changes, uid: unchanged, gid: unchanged}
	switch {
	case w.changes.has(resource.Ensure) && wants(want) == resource.Absent:
		return w.remove(ctx)
	case w.changes.has(resource.Ensure):
		return w.create(ctx)
	}
	errs := []error{w.resolve(ctx)}
	if w.changes.has("content") {
		errs = append(errs, w.blame("content", w.rewrite(ctx)))
	}
	if w.changes.has("target") {
		errs = append(errs, w.blame("target", w.relink()))
	}
	return errors.Join(append(errs, w.settle())...)
}

// A write is one resource on its way from is to want.
type write struct {
	posix
	h        host.Host // for the path itself
	wide     host.Host // for all else
	is, want Attributes
	changes  changes
	uid, gid int // unchanged where they are not managed
}

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
func (w *write) resolve(ctx context.Context) error {
	var userErr, groupErr error
	w.uid, userErr = user.resolve(ctx, w.wide, w.known, w.want.Owner)
	w.gid, groupErr = group.resolve(ctx, w.wide, w.known, w.want.Group)
	return errors.Join(w.blame("owner", userErr), w.blame("group", groupErr))
}

// create brings about what ensure says, with everything that belongs to it.
func (w *write) create(ctx context.Context) error {
	if err := errors.Join(w.resolve(ctx), parentOf(w.h, w.want.Path), refusal(w.is.found.what, w.want)); err != nil {
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

// parentOf is why there is no directory to create a path in, nil if there is.
func parentOf(h host.Reader, at string) error {
	dir := path.Dir(at)
	info, err := h.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot create %s: its parent directory %s does not exist: make it first, with a File that has ensure: directory",
			at, dir)
	case err != nil:
		return cannot("look at parent directory", err)
	case !info.IsDir():
		return fmt.Errorf("cannot create %s: its parent %s is not a directory: name another path", at, dir)
	}
	return nil
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
		return cannot("remove directory", w.h.RemoveAll(w.want.Path))
	}
	return cannot("remove file", w.h.Remove(w.want.Path))
}

func (w *write) mkdir(ctx context.Context) error {
	if w.is.found.what != absent {
		if err := w.clear(ctx); err != nil {
			return err
		}
	}
	if err := w.h.Mkdir(w.want.Path, desiredMode(w.want, 0o755, true)); err != nil {
		return cannot("make directory", err)
	}
	return w.settle()
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
	if err := w.symlink(); err != nil {
		return err
	}
	return w.settle()
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
	err := w.put(ctx, path.Join(path.Dir(w.want.Path), ".fettle-check"), host.NewFile{
		UID: w.uid, GID: w.gid, Mode: new(desiredMode(w.want, 0o644, false)),
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
// time readable for whom only the old was meant.
func (w *write) rewrite(ctx context.Context) error {
	if w.is.found.what != regular {
		return fmt.Errorf("%s is a %s, which has no content: set ensure: file to replace it, or remove content", w.want.Path, w.is.found.what)
	}
	return w.write(ctx, desiredMode(w.want, w.chowned(), false))
}

// chowned is the bits that the kernel would leave: a file that changes hands loses
// its set-ID bits.
func (w *write) chowned() uint32 {
	bits := w.is.found.mode
	if w.uid != unchanged && w.uid != w.is.found.uid || w.gid != unchanged && w.gid != w.is.found.gid {
		bits &^= setUID | setGID
	}
	return bits
}

// write puts the new file in place. What it replaces is kept when nothing else can
// go wrong: a file that stays as it is needs no copy.
func (w *write) write(ctx context.Context, mode uint32) error {
	passes := check(w.wide, w.want)
	return w.put(ctx, w.want.Path, host.NewFile{UID: w.uid, GID: w.gid, Mode: &mode, Check: func(ctx context.Context, staged string) error {
		if passes != nil {
			if err := passes(ctx, staged); err != nil {
				return err
			}
		}
		if err := w.relabel(staged); err != nil || w.is.found.what != regular {
			return err
		}
		return w.save(ctx)
	}})
}

func (w *write) put(ctx context.Context, path string, f host.NewFile) error {
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
	if _, err = w.h.WriteFile(ctx, path, f); err != nil {
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
	return cannot("make link", w.h.Symlink(*w.want.Target, w.want.Path))
}

// settle looks at what is there now and gives it the owner and the mode that it
// lacks. The mode comes last: a change of owner clears the set-ID bits.
func (w *write) settle() error {
	info, err := w.h.Lstat(w.want.Path)
	if err != nil {
		return cannot("look at file", err)
	}
	return errors.Join(w.chown(info), w.chmod(), w.relabel(w.want.Path))
}

func (w *write) chown(info host.FileInfo) error {
	var errs []error
	if w.uid != unchanged && w.uid != info.UID {
		errs = append(errs, w.blame("owner", w.h.Chown(w.want.Path, w.uid, unchanged)))
	}
	if w.gid != unchanged && w.gid != info.GID {
		errs = append(errs, w.blame("group", w.h.Chown(w.want.Path, unchanged, w.gid)))
	}
	return errors.Join(errs...)
}

func (w *write) chmod() error {
	info, err := w.h.Lstat(w.want.Path)
	if err != nil {
		return cannot("look at file", err)
	}
	mode := desiredMode(w.want, info.Mode, info.IsDir())
	if info.IsSymlink() || mode == info.Mode {
		return nil
	}
	return w.blame("mode", w.h.Chmod(w.want.Path, mode))
}
