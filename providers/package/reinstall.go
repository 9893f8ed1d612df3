package pkg

import (
	"context"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/transaction"
)

// reinstall reinstalls the only package of a batch.
func (b *batch) reinstall(ctx context.Context) error {
	o, err := b.planReinstall(ctx)
	if err != nil {
		return err
	}
	orders := b.preseed(ctx, []transaction.Order{o})
	if len(orders) == 0 {
		return b.errs[0]
	}
	released, err := b.release(ctx, orders)
	if err != nil {
		return err
	}
	_, err = b.attempt(ctx, transaction.Transaction{Settings: o.Settings, Orders: orders})
	if is := b.db.Find(o.Name); err != nil || !o.Done(is) {
		b.errs[0] = o.Failed(err, ensureFrom(is))
	}
	b.hold(context.WithoutCancel(ctx), released)
	return b.errs[0]
}

// planReinstall orders the version that is installed, or the version of the source.
func (b *batch) planReinstall(ctx context.Context) (o transaction.Order, err error) {
	if err := b.prepare(ctx); err != nil {
		return o, err
	}
	want := b.writes[0].Want
	name := packageName(b.db, want)
	is := b.db.Find(name)
	switch {
	case is.Damage() != nil:
		return o, is.Damage()
	case !is.Installed():
		return o, resource.ErrNothingToRefresh
	}
	o = transaction.Order{Name: name, Action: transaction.Install, From: is.Version, Version: is.Version, Pinned: true, Settings: settingsOf(want, want.InstallOptions)}
	o.Settings.Reinstall = true
	if want.Source == nil {
		return o, nil
	}
	available, err := b.offerSource(ctx, want)
	o.Version, o.File = available.Candidate, available.file
	return o, err
}
