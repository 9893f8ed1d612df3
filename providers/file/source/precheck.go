package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/file/content"
)

// Precheck returns why there is no content to copy. A missing file that the run may yet make
// is a [resource.MissingError].
func (r Reader) Precheck(ctx context.Context, h host.Reader, s Source) error {
	switch {
	case len(s.Alternatives) > 0:
		chosen, err := r.Choose(ctx, h, s)
		if err != nil {
			return missingAny(s.Paths(), err)
		}
		chosen.Alternatives = nil
		return r.Precheck(ctx, h, chosen)
	case IsURL(s.Location):
		return cannotLook(r.exists(ctx, h, s))
	}
	_, err := lookLocal(ctx, h, s, content.ByTime)
	if errors.Is(err, fs.ErrNotExist) {
		return missingAny(s.Paths(), cannotLook(err))
	}
	if err != nil {
		return cannotLook(err)
	}
	return r.precheckContent(ctx, h, s)
}

// precheckContent reads as much of a file as tells whether its content would be discarded.
func (r Reader) precheckContent(ctx context.Context, h host.Reader, s Source) error {
	body, err := r.Open(ctx, h, s, Version{})
	if err != nil {
		return err
	}
	defer body.Close()
	if s.ChecksumValue != nil {
		_, err = io.Copy(io.Discard, host.ContextReader(ctx, body))
		return err
	}
	if _, err = body.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// CheckTime returns an error if a source that is compared by time was changed in the future: a copy of it would be older than the source,
// and out of sync, until then. A missing source is no error.
func (r Reader) CheckTime(ctx context.Context, h host.Reader, s Source, now time.Time) error {
	if s.algorithm() != content.ByTime || s.ChecksumValue != nil {
		return nil
	}
	v, err := r.Look(ctx, h, s)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !v.Modified.After(now) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("source %s was changed at %s, which is in the future, so that a copy would be older: correct its time, or use another checksum",
			shown([]string{v.Location})[0], v.Modified.UTC().Format(time.RFC3339))
	}
	return err
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
