package pkg

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/debversion"
)

// findLatest looks up the versions that latest and ranges resolve to now. A version that is in its
// range needs no look at the index.
func findLatest(ctx context.Context, h host.Reader, db database, wants []Attributes, results []resource.Result[Attributes]) {
	var indexed []int // places of those that go by apt's index
	for i, want := range wants {
		switch {
		case ensureOf(want) != latest && (!debversion.IsRange(ensureOf(want)) || ensureInSync(results[i].State, want)):
		case want.Source == nil:
			indexed = append(indexed, i)
		default:
			deb, err := readSource(ctx, h, db, want)
			results[i].State.found.latest = deb.version
			results[i].State.found.stale = err != nil // writing tells why
		}
	}
	if err := findIndexed(ctx, h, db, wants, results, indexed); err != nil {
		for _, i := range indexed {
			results[i].Err = err
		}
	}
}

func findIndexed(ctx context.Context, h host.Reader, db database, wants []Attributes, results []resource.Result[Attributes], places []int) error {
	if len(places) == 0 {
		return nil
	}
	var names []string
	for _, i := range places {
		names = append(names, db.actual(wants[i]))
	}
	offers, err := policy(ctx, h, names)
	if err != nil {
		return err
	}
	newer, err := newerThanIndex(h)
	if err != nil {
		return fmt.Errorf("cannot tell how old apt's index is: %w", err)
	}
	for _, i := range places {
		results[i].State.found.latest = offers[db.actual(wants[i])].resolve(ensureOf(wants[i]))
		results[i].State.found.stale = newer != ""
	}
	return nil
}

// resolve is the version that latest or a range comes to, "" for none.
func (o offer) resolve(ensure string) string {
	if !debversion.IsRange(ensure) {
		return o.candidate
	}
	versions, _ := debversion.ParseRange(ensure) // it was validated
	return versions.Newest(o.versions)
}
