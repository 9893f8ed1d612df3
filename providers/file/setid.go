package file

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
)

const setIDs = setUID | setGID

// readTrust finds out which set-ID bits of a file count: a symbolic mode keeps no others.
func (p posix) readTrust(ctx context.Context, h host.Reader, is *Attributes, want Attributes) error {
	if is.found.what != regular || is.found.mode&setIDs == 0 || want.Mode == nil || octalMode.MatchString(*want.Mode) {
		return nil
	}
	dir, err := p.lookupParent(ctx, h, want)
	if err != nil {
		return cannot("look at directory", err)
	}
	defer dir.Close()
	is.found.setIDs, err = trustedSetIDs(dir, is.found.info)
	return err
}

// trustedSetIDs are the set-ID bits of a regular file that nobody could have planted: it has
// no other link, and nobody but root can write to its directory.
func trustedSetIDs(dir host.Handle, info host.FileInfo) (uint32, error) {
	if info.Mode&setIDs == 0 || info.Nlink != 1 {
		return 0, nil
	}
	only, err := dir.OnlyRootWrites()
	if err != nil || !only {
		return 0, cannot("look at directory", err)
	}
	return info.Mode & setIDs, nil
}

// base is the bits that a symbolic mode starts with.
func (f found) base() uint32 {
	if f.what != regular {
		return f.mode
	}
	return f.mode&^setIDs | f.setIDs
}

// changesHands reports whether a user's file is to be somebody else's. That user may have it
// open, and could write to it ever after.
func (w *write) changesHands() bool {
	f := w.is.found
	return f.what == regular && f.uid != 0 && (w.uid != unchanged && w.uid != f.uid || w.gid != unchanged && w.gid != f.gid)
}

// unsafe is why a file can't be given its mode as it is, nil if it can.
func (w *write) unsafe() error {
	if !w.changesHands() || w.want.Mode == nil || desiredMode(w.want, w.is.found.base(), false)&setIDs == 0 {
		return nil
	}
	return fmt.Errorf("%s belongs to user %d, who may have it open and could change what would run with the rights of another: "+
		"manage its content too, or remove it to have it made anew", w.want.Path, w.is.found.uid)
}
