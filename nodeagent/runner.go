package nodeagent

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent/engine"
)

// A runner runs targets on the host, one at a time.
type runner struct {
	node     string
	host     host.Host
	kinds    []resource.Kind
	stateDir string
	now      func() time.Time
	log      *slog.Logger
	ended    func() // called as each resource ends
}

// run runs a target once. It holds the host's lock meanwhile, and only then, so that
// people can run things between: a *state.LockedError is one of theirs. The error says
// that there was no run, or that it will not be remembered.
func (r *runner) run(ctx context.Context, t *target, facts resource.Facts, told []v1alpha1.ResourceReport) (report engine.Report, err error) {
	store, err := state.Open(r.stateDir, state.Options{Source: state.Cluster, Now: r.now})
	if err != nil {
		return report, err
	}
	defer func() {
		if closing := store.Close(); err == nil && closing != nil {
			err = fmt.Errorf("cannot close the state in %s: %w", filepath.Clean(r.stateDir), closing)
		}
	}()
	for _, w := range store.Warnings() {
		r.log.Warn(w)
	}
	news := newsSince(told)
	return engine.Transaction{
		Host: r.host, Facts: facts, Kinds: r.kinds, HostName: r.node, Digest: t.digest, Noop: t.spec.Noop, Store: store, Now: r.now,
		Withheld: withheldRefs(t.spec.Withheld),
		Observe:  func(res engine.ResourceReport) { r.report(res, news(res)) },
	}.Run(ctx, catalog.Items(t.entries, r.kinds))
}

// withheldRefs names what belongs to the node and is not among its entries.
func withheldRefs(all []v1alpha1.Withheld) []resource.Ref {
	var refs []resource.Ref
	for _, w := range all {
		if ref, err := resource.ParseRef(string(w.Ref)); err == nil { // the schema holds its form
			refs = append(refs, ref)
		}
	}
	return refs
}

// report logs what happened to a resource: nothing, if nothing did that is news.
func (r *runner) report(res engine.ResourceReport, news bool) {
	r.ended()
	level := slog.LevelInfo
	switch {
	case !news:
		level = slog.LevelDebug
	case res.State == engine.Failed:
		level = slog.LevelError
	}
	for _, line := range res.Lines() {
		r.log.Log(context.Background(), level, line, "resource", res.Ref.String(), "state", string(res.State))
	}
}

// newsSince tells what was told from what is new: a failure that the last run had too
// is none.
func newsSince(told []v1alpha1.ResourceReport) func(engine.ResourceReport) bool {
	was := map[v1alpha1.ResourceRef]v1alpha1.ResourceReport{}
	for _, r := range told {
		was[r.Ref] = r
	}
	return func(r engine.ResourceReport) bool {
		if r.State == engine.Changed || r.State == engine.Refreshed {
			return true
		}
		is := resourceReport(r)
		before, ok := was[is.Ref]
		return !ok || before.State != is.State || before.Message != is.Message
	}
}
