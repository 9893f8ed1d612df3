package pkg

import (
	"context"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// aptConfiguration is the directory with apt's sources: a file there may bring a package.
const aptConfiguration = "/etc/apt/"

// Precheck implements [resource.Prechecker]. It looks for the packages in apt's index, has apt-get
// simulate the transactions, and notes what they would do to other packages.
func (apt) Precheck(ctx context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	b := &batch{look: h, writes: writes, errs: make([]error, len(writes))}
	if err := b.precheck(ctx); err != nil {
		b.failRest(err)
	}
	return b.errs
}

func (b *batch) precheck(ctx context.Context) error {
	if err := b.read(); err != nil {
		return err
	}
	orders, missing, err := b.tryPlan(ctx)
	if err != nil {
		return err
	}
	newer, err := newerThanIndex(b.look)
	if err != nil {
		return err
	}
	b.reportMissing(missing, newer)
	if newer != "" || b.db.interrupted() || b.db.damaged() {
		return nil // which an apply puts right first, and apt-get simulates nothing before
	}
	for _, t := range transactions(orders) {
		if err := b.simulate(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// reportMissing fails what the index does not have, unless it is older than a source and an apply
// would update it first.
func (b *batch) reportMissing(missing map[int]error, newerSource string) {
	for i, err := range missing {
		if newerSource == "" {
			b.errs[i] = &resource.MissingError{Kind: "File", Name: aptConfiguration, Err: err}
		} else {
			b.writes[i].AddNote(fmt.Sprintf("apt's index may lack it, being older than %s: an apply updates the index first\n", newerSource))
		}
	}
}

// damaged reports whether a package has to be installed again before apt-get does anything else.
func (db database) damaged() bool {
	for _, r := range db.records {
		if r.damage() != nil {
			return true
		}
	}
	return false
}

// simulate has apt-get say what it would do in a transaction. One that fails is simulated in halves
// until the packages that are to blame stand alone, as in transact.
func (b *batch) simulate(ctx context.Context, t transaction) error {
	res, err := b.look.Query(ctx, t.simulation(b.db))
	switch {
	case err != nil:
		return fmt.Errorf("cannot simulate the transaction: %w", err)
	case res.ExitCode == 0:
		note := collateral("would be ", t, parseSimulation(string(res.Stdout), t.asked()))
		b.writes[t.orders[0].write].AddNote(note)
	case len(t.orders) == 1:
		o := t.orders[0]
		b.errs[o.write] = &resource.MissingError{Kind: "File", Name: aptConfiguration, Err: o.failed(failure(res, split(t.setting.environment)), record{})}
	default:
		for _, half := range t.halves() {
			if err := b.simulate(ctx, half); err != nil {
				return err
			}
		}
	}
	return nil
}

// simulation is the first command of a transaction, which has all of its packages. It needs no
// lock, and writes neither apt's cache nor its planner's log.
func (t transaction) simulation(db database) host.Cmd {
	args := []string{"apt-get", "--simulate", "-q", "-y", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "-o", "Dir::Log::Planner=/dev/null"}
	if slices.ContainsFunc(t.orders, func(o order) bool { return db.find(o.name).held() }) {
		args = append(args, "--allow-change-held-packages") // an apply lets them go first
	}
	environment := split(t.setting.environment)
	return host.Cmd{
		Args:      append(args, t.words()[0]...),
		Env:       append(t.setting.variables(), environment...),
		MaxOutput: 16 << 20,
		Show: func(res host.Result) string {
			return host.Output(resource.RedactOutput(res, resource.EnvironmentSecrets(environment)))
		},
	}
}
