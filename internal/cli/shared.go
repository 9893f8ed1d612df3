package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/fettle-dev/fettle/internal/bucket"
	"github.com/fettle-dev/fettle/internal/cli/output"
	"github.com/fettle-dev/fettle/internal/cli/place"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/own"
	"github.com/fettle-dev/fettle/internal/resource"
)

// shared is what all commands get: their environment, and a printer. It never changes.
type shared struct {
	Options
	out *output.Printer
}

// withHost opens the host that flags select for the duration of do. With --debug it logs every operation on the host.
func (s shared) withHost(f place.Flags, do func(place.Place, place.Host) error) error {
	at, err := f.Place()
	if err != nil {
		return err
	}
	return s.Hosts.With(at, s.out.Tracer(), func(h place.Host) error { return do(at, h) })
}

// withBucket opens the bucket of a host for the duration of do. A --state-dir is a directory of this machine,
// whatever the root, or of the host with --host-pid.
func (s shared) withBucket(at place.Place, h place.Host, limit int64, do func(*bucket.Bucket) error) error {
	if at.State == "" {
		return do(bucket.New(h, bucket.DefaultDir, limit))
	}
	if at.OfProcess() {
		return do(bucket.New(h, path.Join("/", at.State, "bucket"), limit))
	}
	dir, err := filepath.Abs(at.State)
	if err != nil {
		return err
	}
	here := h
	if at.Top != "/" {
		if here, err = s.Hosts.Root("/"); err != nil {
			return fmt.Errorf("cannot open this machine for its --state-dir: %w", err)
		}
		defer func() { _ = here.Close() }() // nothing is buffered
	}
	return do(bucket.New(here, path.Join(dir, "bucket"), limit))
}

// ownFiles returns Fettle's own files on the host, as far as its root has them.
func ownFiles(at place.Place, h host.Reader) *own.Files {
	dir := path.Dir(at.ProgramsDir())
	return own.New(own.Root{Host: h, Paths: own.Dirs(dir), Bucket: path.Join(dir, "bucket")})
}

// gather gathers facts, and warns about those that are missing.
func (s shared) gather(ctx context.Context, h host.Reader) resource.Facts {
	all, errs := facts.Gather(ctx, h)
	s.out.Warnings(errs)
	return all
}
