package file

import (
	"errors"

	"github.com/fettle-dev/fettle/internal/host"
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
		if now.setIDs, err = trustedSetIDs(w.dir, info); err != nil {
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
