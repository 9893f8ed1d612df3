package file

import (
	"context"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/entry"
)

// PrecheckRead implements [resource.ReadPrechecker].
func (p posix) PrecheckRead(_ context.Context, h resource.Reader, is, want Attributes) error {
	info := is.found.info
	why := p.accounts.Stale(h, want.Path, is.found.kind != entry.Absent, info.UID, info.GID, want.Owner, want.Group)
	if why == "" {
		return nil
	}
	return &resource.UnknownError{Reason: why}
}
