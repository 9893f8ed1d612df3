package source

import (
	"context"
	"errors"
	"io/fs"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/content"
)

// Precheck returns why there is no content to copy. A missing file that the run may yet make
// is a [resource.MissingError].
func (r Reader) Precheck(ctx context.Context, h host.Reader, s Source) error {
	switch {
	case len(s.Alternatives) > 0:
		_, err := r.Choose(ctx, h, s)
		return missingAny(s.Paths(), err)
	case IsURL(s.Location):
		return cannotLook(r.exists(ctx, h, s))
	}
	_, err := lookLocal(ctx, h, s, content.ByTime)
	if errors.Is(err, fs.ErrNotExist) {
		return missingAny(s.Paths(), cannotLook(err))
	}
	return cannotLook(err)
}

// missingAny returns an error about files of which the run may yet create one.
func missingAny(paths []string, err error) error {
	for _, p := range paths {
		if err != nil {
			err = &resource.MissingError{Kind: "File", Name: p, Err: err}
		}
	}
	return err
}
