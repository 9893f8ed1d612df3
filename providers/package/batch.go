package pkg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A batch is one call of WriteAll under way.
type batch struct {
	tools                 // the zero value where the batch only reports
	look      host.Reader // for all that reads
	writes    []resource.Write[Attributes]
	errs      []error // parallel to writes
	db        database
	refreshed bool  // the index is as new as can be
	updateErr error // why it is not
	stopped   error // why there is no use in trying any further
}

// run makes every package what it should be, together as far as possible. The errors
// are in errs.
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
	for _, t := range transactions(orders) {
		b.transact(ctx, t)
	}
	b.hold(context.WithoutCancel(ctx), released)
}

// failRest fails all that has not failed yet.
func (b *batch) failRest(err error) {
	for i := range b.errs {
		if b.errs[i] == nil {
			b.errs[i] = err
		}
	}
}

// prepare reads the database, and lets dpkg first finish what it was interrupted in.
// If it can't, that is no reason to stop: apt-get works around a package that fails.
func (b *batch) prepare(ctx context.Context) error {
	if err := b.read(); err != nil || !b.db.interrupted() {
		return err
	}
	err := b.configure(ctx)
	if ctx.Err() != nil {
		return err
	}
	return b.read()
}

// read reads the database again, or keeps what was read before.
func (b *batch) read() error {
	db, err := readDatabase(b.look)
	if err == nil {
		b.db = db
	}
	return err
}

// plan orders what is needed. An index that does not have all that is asked for, or
// that is older than its sources, is brought up to date first.
func (b *batch) plan(ctx context.Context) ([]order, error) {
	orders, missing, err := b.tryPlan(ctx)
	if err != nil {
		return nil, err
	}
	newer, err := newerThanIndex(b.look)
	if err != nil {
		return nil, err
	}
	if wanted := installs(b.writes); wanted && newer != "" || len(missing) > 0 {
		b.refresh(ctx)
		orders, missing, err = b.tryPlan(ctx)
	}
	for i, m := range missing {
		b.errs[i] = m
	}
	b.doubt(orders)
	return orders, err
}

// doubt fails what an index that could not be brought up to date can't tell: whether a package
// exists, and which version is the latest.
func (b *batch) doubt(orders []order) {
	if b.updateErr == nil {
		return
	}
	for i, w := range b.writes {
		missing, isMissing := errors.AsType[*unavailableError](b.errs[i])
		ordered := slices.ContainsFunc(orders, func(o order) bool { return o.write == i })
		switch {
		case isMissing:
			b.errs[i] = fmt.Errorf("%s, which can't be brought up to date: %w", missing.lack, b.updateErr)
		case b.errs[i] == nil && ensureOf(w.Want) == latest && !ordered:
			b.errs[i] = fmt.Errorf("cannot tell the latest version, because apt's index can't be brought up to date: %w", b.updateErr)
		}
	}
}

// installs reports whether anything is to be installed.
func installs(writes []resource.Write[Attributes]) bool {
	return slices.ContainsFunc(writes, func(w resource.Write[Attributes]) bool { return installing(w.Want) })
}

// tryPlan plans by the index as it is. missing is what the index does not have, by the
// place in the batch; other errors are for good.
func (b *batch) tryPlan(ctx context.Context) (orders []order, missing map[int]error, err error) {
	offers, err := b.offers(ctx)
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
			o.write = i
			orders = append(orders, *o)
		}
	}
	return orders, missing, nil
}

// order decides what one resource needs.
func (b *batch) order(ctx context.Context, want Attributes, offers map[string]offer) (*order, error) {
	name, has, err := b.choose(ctx, want, offers)
	if err != nil {
		return nil, err
	}
	return plan(want, name, b.db.find(name), has)
}

// names are those whose versions in the index matter.
func (b *batch) names() []string {
	var names []string
	for _, w := range b.writes {
		if installing(w.Want) && w.Want.Source == nil {
			names = append(names, b.db.actual(w.Want))
		}
	}
	return names
}

// refresh updates the index, once in a batch. That it fails matters to what is missing
// then, and to nothing else.
func (b *batch) refresh(ctx context.Context) {
	if b.refreshed {
		return
	}
	b.refreshed = true
	var environment []string
	for _, w := range b.writes {
		environment = append(environment, w.Want.Environment...)
	}
	b.updateErr = b.update(ctx, environment)
}

// transact runs a transaction, and again in two halves if it failed: in the end the
// packages that are to blame stand alone.
func (b *batch) transact(ctx context.Context, t transaction) {
	before := b.db
	err := b.attempt(ctx, t)
	b.writes[t.orders[0].write].AddNote(collateral("also ", t, alterations(before, b.db, t.asked())))
	b.noteVersions(t)
	rest := transaction{setting: t.setting}
	for _, o := range t.orders {
		if !o.done(b.db.find(o.name)) {
			rest.orders = append(rest.orders, o)
		}
	}
	switch {
	case len(rest.orders) == 0:
	case len(t.orders) > 1:
		for _, half := range rest.halves() {
			if len(half.orders) > 0 {
				b.transact(ctx, half)
			}
		}
	default:
		for _, o := range rest.orders {
			b.errs[o.write] = o.failed(err, b.db.find(o.name))
		}
	}
}

// noteVersions reports which version a package came to where the resource does not name one.
func (b *batch) noteVersions(t transaction) {
	for _, o := range t.orders {
		is, w := b.db.find(o.name), b.writes[o.write]
		if o.action == install && o.done(is) && ensureOf(w.Want) != is.version {
			w.AddNote(fmt.Sprintf("installed version %s\n", is.version))
		}
	}
}

// attempt runs a transaction once, or twice: one that did not touch its packages may
// have failed for the index, which names files that the archive no longer has.
func (b *batch) attempt(ctx context.Context, t transaction) error {
	if b.stopped != nil {
		return b.stopped
	}
	before := b.db
	err := b.commands(ctx, t)
	if err != nil && !b.refreshed && b.stopped == nil && !t.touched(before, b.db) && t.has(install) {
		b.refresh(ctx)
		return b.commands(ctx, t)
	}
	return err
}

// touched reports whether any package is not what it was; that a hold was lifted is no such thing.
func (t transaction) touched(before, after database) bool {
	return slices.ContainsFunc(t.orders, func(o order) bool {
		was, is := before.find(o.name), after.find(o.name)
		return was.version != is.version || was.state != is.state
	})
}

// commands runs all commands of a transaction and reads what came of them. The
// database decides what is done; the error only explains.
func (b *batch) commands(ctx context.Context, t transaction) error {
	var errs []error
	for _, words := range t.words() {
		errs = append(errs, b.command(ctx, t.setting, words))
		if b.stopped != nil {
			break
		}
	}
	return errors.Join(errors.Join(errs...), b.read())
}

// command runs one. Where it could not run to its end, or not get at the packages at
// all, the next one would fare no better.
func (b *batch) command(ctx context.Context, s setting, words []string) error {
	res, err := b.aptGet(ctx, s, words)
	switch {
	case err != nil:
		b.stopped = err
	case res.ExitCode == 0:
		return notReinstalled(res)
	default:
		err = failure(res, split(s.environment))
		if lockedOut(res) {
			b.stopped = err
		}
	}
	return err
}

// failed is why an order is not carried out.
func (o order) failed(why error, is record) error {
	if why == nil {
		return fmt.Errorf("cannot %s package %q: apt-get succeeded, but it is %s", o.verb(), o.name, is.ensure())
	}
	return fmt.Errorf("cannot %s package %q: %w", o.verb(), o.argument(), why)
}

func (o order) verb() string {
	if o.setting.reinstall {
		return "reinstall"
	}
	return string(o.action)
}
