package pkg

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
)

// readSource reads what the source of a package is. One of another package is an error.
func readSource(ctx context.Context, h host.Reader, db database, want Attributes) (record, error) {
	res, err := h.Query(ctx, host.Cmd{Args: []string{"dpkg-deb", "--field", *want.Source, "Package", "Version", "Architecture"}, Show: host.Output})
	if err == nil && res.ExitCode != 0 {
		err = failure(res, nil)
	}
	if err != nil {
		return record{}, fmt.Errorf("cannot read source %q: %w", *want.Source, err)
	}
	var deb record
	err = parseRecords(bytes.NewReader(res.Stdout), func(r record) { deb = r })
	if is, should := db.canonical(deb.name+":"+deb.arch), db.canonical(want.Name); err == nil && is != should {
		err = fmt.Errorf("source %q is the package %q, not %q: correct source or name", *want.Source, is, should)
	}
	return deb, err
}

// offerOf is the source as all that there is of the package.
func (b *batch) offerOf(ctx context.Context, want Attributes) (offer, error) {
	deb, err := readSource(ctx, b.look, b.db, want)
	if err != nil {
		return offer{}, err
	}
	if !allows(want, deb.version) {
		return offer{}, fmt.Errorf("source %q is version %q of the package, which ensure %q does not allow: correct source or ensure",
			*want.Source, deb.version, ensureOf(want))
	}
	return offer{candidate: deb.version, versions: []string{deb.version}, source: *want.Source}, nil
}
