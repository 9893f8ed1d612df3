package pkg

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/providers/package/apt"
	"github.com/fettle-dev/fettle/providers/package/dpkg"
	"github.com/fettle-dev/fettle/providers/package/transaction"
)

// aptConfiguration is the directory with apt's sources: a file there may add a package.
const aptConfiguration = "/etc/apt/"

// Precheck implements [resource.Prechecker]. It looks for the packages in apt's index, has apt-get
// simulate the transactions, and notes what they would do to other packages.
func (provider) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	b := &batch{reader: h, writes: writes, errs: make([]error, len(writes))}
	if err := b.precheck(ctx); err != nil {
		b.failRest(err)
	}
	return b.errs
}

func (b *batch) precheck(ctx context.Context) error {
	if err := b.read(); err != nil {
		return err
	}
	orders, missing, err := b.planByIndex(ctx)
	if err != nil {
		return err
	}
	newer, err := apt.NewerThanIndex(b.reader)
	if err != nil {
		return err
	}
	b.reportMissing(missing, newer)
	if newer != "" || b.db.Interrupted() || b.db.Damaged() {
		return nil // an apply corrects that first, and apt-get simulates nothing before
	}
	for _, t := range transaction.Group(orders) {
		if err := b.simulate(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// reportMissing fails packages that the index lacks, unless it is older than a source, so that an
// apply would update it first.
func (b *batch) reportMissing(missing map[int]error, newerSource string) {
	for i, err := range missing {
		if newerSource == "" {
			b.errs[i] = &resource.MissingError{Kind: "File", Name: aptConfiguration, Err: err}
		} else {
			b.writes[i].AddNote(fmt.Sprintf("apt's index may lack it, because it is older than %s: an apply updates the index first\n", newerSource))
		}
	}
}

// simulate has apt-get simulate a transaction. If that fails, it simulates the halves, until each
// failing package is alone.
func (b *batch) simulate(ctx context.Context, t transaction.Transaction) error {
	cmd, ok := t.Simulation(b.db)
	if !ok {
		b.noteUnchecked(t)
		return nil
	}
	res, err := apt.Ask(ctx, b.reader, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("cannot simulate the transaction: %w", err)
	case res.ExitCode == 0:
		b.writes[t.Orders[0].Index].AddNote(t.SideEffects("would be ", transaction.Simulated(string(res.Stdout))))
	case len(t.Orders) == 1:
		o := t.Orders[0]
		failed := o.Failed(apt.Failure(res, nil), ensureFrom(dpkg.Package{}))
		b.errs[o.Index] = &resource.MissingError{Kind: "File", Name: aptConfiguration, Err: failed}
	default:
		for _, half := range t.Halves() {
			if err := b.simulate(ctx, half); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteUnchecked reports that a transaction was not simulated.
func (b *batch) noteUnchecked(t transaction.Transaction) {
	for _, o := range t.Orders {
		b.writes[o.Index].AddNote("not checked: apt-get simulates nothing with these installOptions or uninstallOptions, which may have it run programs\n")
	}
}
