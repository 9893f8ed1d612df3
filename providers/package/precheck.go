package pkg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

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
	for i, w := range writes {
		if b.errs[i] == nil && changesEnsure(w) {
			b.errs[i] = errors.Join(missingAnswers(h, w.Want), &resource.UnknownError{Reason: "runs maintainer scripts"})
		}
	}
	return b.errs
}

// missingAnswers returns an error if there is no responseFile, which a File may make.
func missingAnswers(h resource.Reader, want Attributes) error {
	if want.ResponseFile == nil {
		return nil
	}
	if _, err := h.Stat(*want.ResponseFile); errors.Is(err, fs.ErrNotExist) {
		return &resource.MissingError{Kind: "File", Name: *want.ResponseFile, Err: fmt.Errorf("cannot read responseFile: %w", err)}
	}
	return nil
}

func changesEnsure(w resource.Write[Attributes]) bool {
	return slices.ContainsFunc(w.Changes, func(c resource.Change) bool { return c.Property == resource.Ensure })
}

func (b *batch) precheck(ctx context.Context) error {
	if err := b.read(); err != nil {
		return err
	}
	newer, err := apt.NewerThanIndex(b.reader)
	if err != nil {
		return err
	}
	orders, missing, err := b.planByIndex(ctx)
	if err != nil {
		return err
	}
	switch {
	case b.db.Interrupted() || b.db.Damaged(): // apt-get simulates nothing before that is corrected
		b.reportUnknown("an apply first finishes the work of an interrupted dpkg", func(Attributes) bool { return true })
		return nil
	case newer != "":
		b.reportUnknown(outdated(newer), installing)
		orders = slices.DeleteFunc(orders, func(o transaction.Order) bool { return o.Action == transaction.Install })
	default:
		b.reportMissing(missing)
	}
	for _, t := range transaction.Group(orders) {
		if err := b.simulate(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// reportUnknown reports that the result of some writes is unknown.
func (b *batch) reportUnknown(reason string, of func(want Attributes) bool) {
	for i, w := range b.writes {
		if b.errs[i] == nil && changesEnsure(w) && of(w.Want) {
			b.errs[i] = &resource.UnknownError{Reason: reason}
		}
	}
}

// reportMissing fails packages that the index lacks.
func (b *batch) reportMissing(missing map[int]error) {
	for i, err := range missing {
		b.errs[i] = &resource.MissingError{Kind: "File", Name: aptConfiguration, Err: err}
	}
}

// simulate has apt-get simulate a transaction. If that fails, it simulates the halves, until each
// failing package is alone.
func (b *batch) simulate(ctx context.Context, t transaction.Transaction) error {
	cmd, ok := t.Simulation(b.db)
	if !ok {
		b.reportUnchecked(t)
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

// reportUnchecked reports that a transaction was not simulated.
func (b *batch) reportUnchecked(t transaction.Transaction) {
	for _, o := range t.Orders {
		b.errs[o.Index] = &resource.UnknownError{Reason: "apt-get simulates nothing with these installOptions or uninstallOptions, which may have it run programs"}
	}
}
