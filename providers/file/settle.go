package file

import (
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/providers/file/filemode"
)

// settleOld gives what is there the owner and the mode that it lacks.
func (w *write) settleOld() error {
	if err := w.unsafe(); err != nil {
		return w.blame("mode", err)
	}
	return w.settle(w.old)
}

// settle gives a file the owner and the mode that it lacks. The mode comes last: a change of
// owner clears the set-ID bits.
func (w *write) settle(file host.WritableHandle) error {
	info, err := file.Stat()
	if err != nil {
		return cannot("look at file", err)
	}
	return errors.Join(w.chown(file, info), w.chmod(file), w.relabel(file))
}

func (w *write) chown(file host.WritableHandle, info host.FileInfo) error {
	var errs []error
	if w.uid != unchanged && w.uid != info.UID {
		errs = append(errs, w.blame("owner", file.Chown(w.uid, unchanged)))
	}
	if w.gid != unchanged && w.gid != info.GID {
		errs = append(errs, w.blame("group", file.Chown(unchanged, w.gid)))
	}
	return errors.Join(errs...)
}

func (w *write) chmod(file host.WritableHandle) error {
	info, err := file.Stat()
	if err != nil {
		return cannot("look at file", err)
	}
	now := found{what: kindOf(info), mode: info.Mode}
	if w.want.Mode != nil && now.what == regular {
		if now.setIDs, err = filemode.TrustedSetIDs(w.dir, info); err != nil {
			return err
		}
	}
	mode := info.Mode
	if w.want.Mode != nil {
		mode = desiredMode(w.want, now.base(), info.IsDir())
	}
	if info.IsSymlink() || mode == info.Mode {
		return nil
	}
	return w.blame("mode", file.Chmod(mode))
}

// changesHands reports whether a user's file is to get another owner. That user may have it
// open, and could go on writing to it.
func (w *write) changesHands() bool {
	f := w.is.found
	return f.what == regular && f.uid != 0 && (w.uid != unchanged && w.uid != f.uid || w.gid != unchanged && w.gid != f.gid)
}

// unsafe is why a file can't be given its mode as it is, nil if it can.
func (w *write) unsafe() error {
	if !w.changesHands() || w.want.Mode == nil || desiredMode(w.want, w.is.found.base(), false)&filemode.SetIDs == 0 {
		return nil
	}
	return fmt.Errorf("%s belongs to user %d, who may have it open and could change what would run with the rights of another: "+
		"manage its content too, or remove it to have it made anew", w.want.Path, w.is.found.uid)
}
