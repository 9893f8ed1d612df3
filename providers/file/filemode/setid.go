package filemode

import (
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
)

// TrustedSetIDs returns the set-ID bits of a regular file that only root can have set: the
// file has no other hard link, and only root can write to dir, its directory.
func TrustedSetIDs(dir host.Handle, info host.FileInfo) (uint32, error) {
	if info.Mode&SetIDs == 0 || info.Nlink != 1 {
		return 0, nil
	}
	onlyRoot, err := dir.OnlyRootWrites()
	if err != nil {
		return 0, fmt.Errorf("cannot look at directory: %w", err)
	}
	if !onlyRoot {
		return 0, nil
	}
	return info.Mode & SetIDs, nil
}
