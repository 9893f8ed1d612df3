package pkg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
	"github.com/fettle-dev/fettle/providers/package/transaction"
)

// A batch is one call of WriteAll or Precheck.
type batch struct {
	tools     apt.Tools // zero if the batch only reports
	reader    resource.Reader
	writes    []resource.Write[Attributes]
	errs      []error // parallel to writes
	db        dpkg.Database
	updated   bool  // apt's index was updated, or can't be
	updateErr error // of that
	stopped   error // if set, nothing more is tried
}

// run brings all packages into their desired state, together as far as possible.
func (b *batch) run(ctx context.Context) {
	if err := b.prepare(ctx); err != nil {
		b.failRest(err)
		return
	}
	orders, err := b.plan(ctx)
	if err != nil {
		b.failRest(err)
		return
	}
	orders = b.preseed(ctx, orders)
	released, err := b.release(ctx, orders)
	if err != nil {
		b.failRest(err)
		return
	}
	for _, t := range transaction.Group(orders) {
		b.transact(ctx, t)
	}
	b.failLatest()
	b.hold(context.WithoutCancel(ctx), released)
}

// failRest fails all writes that have not failed yet.
func (b *batch) failRest(err error) {
	for i := range b.errs {
		if b.errs[i] == nil {
			b.errs[i] = err
		}
	}
}

// prepare reads the database, after dpkg has finished what it was interrupted in. If it can't,
// that is no reason to stop: apt-get works around a package that fails.
func (b *batch) prepare(ctx context.Context) error {
	if err := b.read(); err != nil || !b.db.Interrupted() {
		return err
	}
	err := b.tools.Configure(ctx)
	if ctx.Err() != nil {
		return err
	}
	return b.read()
}

// read reads the database again. If that fails, it keeps what was read before.
func (b *batch) read() error {
	db, err := dpkg.Read(b.reader)
	if err == nil {
		b.db = db
	}
	return err
}

// plan returns the necessary orders. It first updates an index that is older than its sources, or that lacks a requested package.
func (b *batch) plan(ctx context.Context) ([]transaction.Order, error) {
	newer, err := apt.NewerThanIndex(b.reader)
	if err != nil {
		return nil, err
	}
	if newer != "" && slices.ContainsFunc(b.writes, func(w resource.Write[Attributes]) bool { return installing(w.Want) }) {
		b.update(ctx)
	}
	orders, missing, err := b.planByIndex(ctx)
	if err == nil && len(missing) > 0 && b.update(ctx) {
		orders, missing, err = b.planByIndex(ctx)
	}
	for i, m := range missing {
		b.errs[i] = m
	}
	b.failOutdated()
	return orders, err
}

// failOutdated fails writes that depend on an index that could not be updated: whether a package exists.
func (b *batch) failOutdated() {
	for i, err := range b.errs {
		if missing, ok := errors.AsType[*unavailableError](err); ok && b.updateErr != nil {
			b.errs[i] = fmt.Errorf("%s, which can't be updated: %w", missing.lack, b.updateErr)
		}
	}
}

// failLatest fails writes of the latest version if nobody can tell which that is, whatever was installed.
func (b *batch) failLatest() {
	for i, w := range b.writes {
		if b.updateErr != nil && b.errs[i] == nil && ensureOf(w.Want) == latest && w.Want.Source == nil {
			err := fmt.Errorf("the latest version is unknown, because apt's index can't be updated (correct its sources, or ask for ensure: present): %w", b.updateErr)
			b.errs[i] = &resource.PropertyError{Property: resource.Ensure, Err: err}
		}
	}
}

// planByIndex plans by the index as it is. missing has the errors about packages and versions that
// the index lacks, by the place in the batch; other errors are final.
func (b *batch) planByIndex(ctx context.Context) (orders []transaction.Order, missing map[int]error, err error) {
	offers, err := apt.Offers(ctx, b.reader, b.names())
	if err != nil {
		return nil, nil, err
	}
	missing = map[int]error{}
	for i, w := range b.writes {
		o, err := b.order(ctx, w.Want, offers)
		switch _, unavailable := errors.AsType[*unavailableError](err); {
		case unavailable:
			missing[i] = err
		case err != nil:
			b.errs[i] = err
		case o != nil:
			o.Index = i
			orders = append(orders, *o)
		}
	}
	return orders, missing, nil
}

// order returns the order of one resource, or nil if it needs nothing.
func (b *batch) order(ctx context.Context, want Attributes, offers map[string]apt.Offer) (*transaction.Order, error) {
	name, available, err := b.choose(ctx, want, offers)
	if err != nil {
		return nil, err
	}
	return plan(want, name, b.db.Find(name), available)
}

// names returns the names of packages whose versions in the index matter.
func (b *batch) names() []string {
	var names []string
	for _, w := range b.writes {
		if installing(w.Want) && w.Want.Source == nil {
			names = append(names, packageName(b.db, w.Want))
		}
	}
	return names
}

// An updateKey identifies updates of the index that have the same result: those in one run, of the same sources.
type updateKey struct {
	changed     time.Time
	environment string
}

// An updateResult is the error of an update, or nil.
type updateResult struct{ err error }

// update updates the index, once in a run and for the same sources, and reports whether it did so now. A failure matters only to
// packages that are missing afterwards, and to those whose latest version is desired.
func (b *batch) update(ctx context.Context) bool {
	if b.updated {
		return false
	}
	b.updated = true
	changed, err := apt.SourcesChanged(b.reader)
	if err != nil {
		b.updateErr = err
		return false
	}
	key := updateKey{changed, strings.Join(b.environment(), "\x00")}
	if earlier, done := resource.Remembered[updateResult](b.reader, key); done && (earlier.err != nil || !b.isOutdated()) {
		b.updateErr = earlier.err
		return false
	}
	b.updateErr = b.tools.Update(ctx, b.environment())
	resource.Remember(b.reader, key, updateResult{b.updateErr})
	return true
}

func (b *batch) isOutdated() bool {
	newer, err := apt.NewerThanIndex(b.reader)
	return err == nil && newer != ""
}

// environment returns the environment of all packages.
func (b *batch) environment() []string {
	var all []string
	for _, w := range b.writes {
		all = append(all, w.Want.Environment...)
	}
	return all
}
