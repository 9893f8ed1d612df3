package file

import (
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// Stale implements [resource.StaleChecker].
func (p posix) Stale(h resource.Reader, is, want Attributes) string {
	info := is.found.info
	return p.accounts.Stale(h, want.Path, is.found.kind != entry.Absent, info.UID, info.GID, want.Owner, want.Group)
}
