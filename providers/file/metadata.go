package file

import (
	"errors"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
	"github.com/fettle-dev/fettle/providers/file/filemode"
	"github.com/fettle-dev/fettle/providers/file/owner"
	"github.com/fettle-dev/fettle/providers/file/selinux"
)

// setOldMetadata corrects owner, mode and label of the present file.
func (w *writer) setOldMetadata() error {
	if err := w.edit().unsafeMode(); err != nil {
		return err
	}
	return w.setMetadata(w.old)
}

// setMetadata corrects owner, mode and label. The mode follows the owner, as a change of owner
// clears the set-ID bits.
func (w *writer) setMetadata(file host.WritableHandle) error {
	info, err := file.Stat()
	if err != nil {
		return cannot("look at file", err)
	}
	return errors.Join(w.chown(file, info), w.chmod(file), w.setLabel(file))
}

func (w *writer) chown(file host.WritableHandle, info host.FileInfo) error {
	var errs []error
	if w.uid != owner.Unchanged && w.uid != info.UID {
		errs = append(errs, w.propertyError("owner", file.Chown(w.uid, owner.Unchanged)))
	}
	if w.gid != owner.Unchanged && w.gid != info.GID {
		errs = append(errs, w.propertyError("group", file.Chown(owner.Unchanged, w.gid)))
	}
	return errors.Join(errs...)
}

func (w *writer) chmod(file host.WritableHandle) error {
	info, err := file.Stat()
	if err != nil || info.IsSymlink() || w.want.Mode == nil {
		return cannot("look at file", err)
	}
	now := found{kind: entry.KindOf(info), info: info}
	if info.IsRegular() {
		if now.setIDs, err = filemode.TrustedSetIDs(w.dir, info); err != nil {
			return err
		}
	}
	mode := desiredMode(w.want, now.base(), info.IsDir())
	if mode == info.Mode {
		return nil
	}
	return w.propertyError("mode", file.Chmod(mode))
}

// setLabel attributes its error to each part of the label that is to change.
func (w *writer) setLabel(file host.WritableHandle) error {
	err := selinux.Apply(file, labelOf(w.want))
	if err == nil {
		return nil
	}
	var errs []error
	for _, part := range []string{"seluser", "selrole", "seltype", "selrange"} {
		if w.changes.has(part) {
			errs = append(errs, &resource.PropertyError{Property: part, Err: err})
		}
	}
	if errs == nil {
		return cannot("set label", err)
	}
	return errors.Join(errs...)
}

// changesOwner reports whether the file is to get another owner or group.
func (w *writer) changesOwner() bool {
	info := w.is.found.info
	return w.uid != owner.Unchanged && w.uid != info.UID || w.gid != owner.Unchanged && w.gid != info.GID
}
