package pkg

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/host"
)

// findLatest looks up the newest versions for those who ask for them.
func findLatest(ctx context.Context, h host.Reader, db database, wants, states []Attributes) error {
	var indexed []int // places of those that go by apt's index
	for i, want := range wants {
		switch {
		case ensureOf(want) != latest:
		case want.Source == nil:
			indexed = append(indexed, i)
		default:
			deb, err := readSource(ctx, h, db, want)
			states[i].found.latest = deb.version
			states[i].found.stale = err != nil // writing tells why
		}
	}
	return findIndexed(ctx, h, db, wants, states, indexed)
}

func findIndexed(ctx context.Context, h host.Reader, db database, wants, states []Attributes, places []int) error {
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
		states[i].found.latest = offers[db.actual(wants[i])].candidate
		states[i].found.stale = newer != ""
	}
	return nil
}
