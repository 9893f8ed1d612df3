package pkg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
	"github.com/fettle-dev/fettle/providers/package/transaction"
)

// preseed answers the questions of packages that are about to change, and returns the orders that
// can go on.
func (b *batch) preseed(ctx context.Context, orders []transaction.Order) []transaction.Order {
	tried := map[string]error{}
	var ready []transaction.Order
	for _, o := range orders {
		if file := b.writes[o.Index].Want.ResponseFile; file != nil {
			if _, done := tried[*file]; !done {
				tried[*file] = b.tools.Preseed(ctx, *file)
			}
			if err := tried[*file]; err != nil {
				b.errs[o.Index] = err
				continue
			}
		}
		ready = append(ready, o)
	}
	return ready
}

// transact runs a transaction. If it fails, it runs the rest of it in two halves, until each
// failing package is alone.
func (b *batch) transact(ctx context.Context, t transaction.Transaction) {
	before, first := b.db, b.writes[t.Orders[0].Index]
	t, err := b.attempt(ctx, t)
	first.AddNote(t.SideEffects("also ", dpkg.Changes(before, b.db)))
	b.reportVersions(t)
	rest := transaction.Transaction{Settings: t.Settings}
	for _, o := range t.Orders {
		if !o.Done(b.db.Find(o.Name)) {
			rest.Orders = append(rest.Orders, o)
		}
	}
	switch {
	case len(rest.Orders) == 0:
	case len(t.Orders) > 1:
		for _, half := range rest.Halves() {
			if len(half.Orders) > 0 {
				b.transact(ctx, half)
			}
		}
	default:
		for _, o := range rest.Orders {
			b.errs[o.Index] = o.Failed(err, ensureFrom(b.db.Find(o.Name)))
		}
	}
}

// reportVersions reports the versions that were installed if the resource does not name them.
func (b *batch) reportVersions(t transaction.Transaction) {
	for _, o := range t.Orders {
		is, w := b.db.Find(o.Name), b.writes[o.Index]
		if o.Action == transaction.Install && o.Done(is) && ensureOf(w.Want) != is.Version {
			w.AddNote(fmt.Sprintf("installed version %s\n", is.Version))
		}
	}
}

// attempt runs a transaction once, or twice: one that changed none of its packages may have failed
// because the index names files that the archive no longer has. It returns the transaction by the index that it used last.
func (b *batch) attempt(ctx context.Context, t transaction.Transaction) (transaction.Transaction, error) {
	if b.stopped != nil {
		return t, b.stopped
	}
	before := b.db
	err := b.runAll(ctx, t)
	if err == nil || b.stopped != nil || b.changed(t, before) || !t.Has(transaction.Install) || !b.update(ctx) {
		return t, err
	}
	if t, err = b.planAgain(ctx, t); err != nil || len(t.Orders) == 0 {
		return t, err
	}
	return t, b.runAll(ctx, t)
}

// planAgain plans the orders of a transaction by a newer index, which may have other versions, or nothing newer. A version that it
// does not have stays, for apt-get's error.
func (b *batch) planAgain(ctx context.Context, t transaction.Transaction) (transaction.Transaction, error) {
	if t.Settings.Reinstall { // of the version that is installed, whatever there is
		return t, nil
	}
	offers, err := apt.Offers(ctx, b.reader, b.names())
	if err != nil {
		return t, err
	}
	again := transaction.Transaction{Settings: t.Settings}
	for _, o := range t.Orders {
		newer, err := b.order(ctx, b.writes[o.Index].Want, offers)
		switch {
		case err != nil:
			again.Orders = append(again.Orders, o)
		case newer != nil:
			newer.Index, newer.Settings = o.Index, o.Settings
			again.Orders = append(again.Orders, *newer)
		}
	}
	return again, nil
}

// changed reports whether a package of a transaction was changed. That it is no longer held does
// not count.
func (b *batch) changed(t transaction.Transaction, before dpkg.Database) bool {
	return slices.ContainsFunc(t.Orders, func(o transaction.Order) bool {
		was, is := before.Find(o.Name), b.db.Find(o.Name)
		return was.Version != is.Version || was.State != is.State
	})
}

// runAll runs all commands of a transaction and reads the database again. The database decides what was
// done; the error only explains.
func (b *batch) runAll(ctx context.Context, t transaction.Transaction) error {
	var errs []error
	for _, args := range t.Commands() {
		errs = append(errs, b.runOne(ctx, t.Settings, args))
		if b.stopped != nil {
			break
		}
	}
	return errors.Join(errors.Join(errs...), b.read())
}

// runOne runs one command. If that could not run, or could not get the lock, the next one could not
// either.
func (b *batch) runOne(ctx context.Context, s apt.Settings, args []string) error {
	res, err := b.tools.Get(ctx, s, args)
	switch {
	case err != nil:
		b.stopped = err
	case res.ExitCode == 0:
		return apt.NotReinstalled(res)
	default:
		err = apt.Failure(res, s.Environment())
		if apt.LockedOut(res) {
			b.stopped = err
		}
	}
	return err
}

// release releases the packages that are held and about to change, or that must not be held. apt-get could be told to change
// held packages, but then it would change others too.
func (b *batch) release(ctx context.Context, orders []transaction.Order) (released map[string]bool, err error) {
	released = map[string]bool{}
	var names []string
	for _, w := range b.writes {
		if name := packageName(b.db, w.Want); b.db.Find(name).Held() && !shouldHold(w.Want, true) {
			released[name] = true
			names = append(names, name)
		}
	}
	for _, o := range orders {
		if b.db.Find(o.Name).Held() && !released[o.Name] {
			released[o.Name] = true
			names = append(names, o.Name)
		}
	}
	return released, b.tools.Select(ctx, apt.SelectInstall, names)
}

// hold holds the packages whose resources set mark: hold, or that were held before.
func (b *batch) hold(ctx context.Context, released map[string]bool) {
	var names []string
	var held []int
	for i, w := range b.writes {
		name := packageName(b.db, w.Want)
		is := b.db.Find(name)
		if is.Installed() && (released[name] || !is.Held()) && shouldHold(w.Want, released[name]) {
			names, held = append(names, name), append(held, i)
		}
	}
	err := b.tools.Select(ctx, apt.SelectHold, names)
	if err == nil {
		return
	}
	for _, i := range held {
		b.errs[i] = errors.Join(b.errs[i], &resource.PropertyError{Property: "mark", Err: err})
	}
}

func shouldHold(want Attributes, before bool) bool {
	if want.Mark != nil {
		return *want.Mark == hold
	}
	return before
}
