package nodeagent

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A runner runs targets on the host, one at a time.
type runner struct {
	node    string
	kinds   []resource.Kind
	bucket  resource.Bucket
	control hostrun.Options
	open    catalog.Opener
	lookout *drift.Lookout
	now     func() time.Time
	log     *slog.Logger
	ended   func() // called as each resource ends
}

// run runs a target once. It holds the host's lock meanwhile, and only then, so that
// people can run things between: a *state.LockedError is one of theirs. The error says
// that there was no run, or that it will not be remembered.
func (r *runner) run(ctx context.Context, t *target, facts resource.Facts, told []v1alpha1.ResourceReport) (engine.Report, error) {
	around := r.control
	if t.spec.Noop {
		around.Before, around.After = nil, nil
	}
	return hostrun.Run(ctx, around, func(ctx context.Context, store engine.Store) (engine.Report, error) {
		items, news := catalog.Items(t.entries, r.kinds, r.open), newsSince(told)
		r.explainProviders(ctx, items, facts)
		r.unwatched(r.lookout.Begin(r.now(), items, facts))
		report, err := engine.Transaction{
			Host: around.Host, Bucket: r.bucket, Facts: facts, Kinds: r.kinds, HostName: r.node, Digest: t.digest, Noop: t.spec.Noop, Store: store, Now: r.now, Trace: r.trace(ctx),
			Withheld: withheldRefs(t.spec.Withheld), Charter: string(t.uid),
			Observe: func(res engine.ResourceReport) { r.report(res, news(res)) },
		}.Run(ctx, items)
		r.unwatched(r.lookout.End(r.now(), items, report.Changed()))
		return report, err
	})
}

// explainProviders logs at debug level which providers of the kinds in use work on the host,
// and why the others do not.
func (r *runner) explainProviders(ctx context.Context, items []resource.Item, facts resource.Facts) {
	if !r.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, k := range r.kinds {
		if !slices.ContainsFunc(items, func(i resource.Item) bool { return i.Ref.Kind == k.Name() }) {
			continue
		}
		for _, s := range k.Suitability(facts, r.control.Host) {
			r.log.DebugContext(ctx, s.Explain(k.Name()))
		}
	}
}

// trace is where a run traces the states of its resources to; nil for nowhere.
func (r *runner) trace(ctx context.Context) func(line string) {
	if !r.log.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return func(line string) { r.log.DebugContext(ctx, line) }
}

// unwatched says what can't be watched.
func (r *runner) unwatched(err error) {
	if err != nil {
		r.log.Warn("drift there is corrected at the interval alone", "error", err)
	}
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
	level := logLevel(res)
	if !news {
		level = min(level, slog.LevelDebug)
	}
	for _, line := range res.Lines() {
		r.log.Log(context.Background(), level, line, "resource", res.Ref.String(), "state", string(res.State))
	}
}

// logLevel is the highest that an event of a resource has; without events it is that
// of how the resource ended.
func logLevel(res engine.ResourceReport) slog.Level {
	if res.State == engine.Failed {
		return slog.LevelError
	}
	level := slog.LevelInfo
	for i, e := range res.Events {
		if is := slogLevel(e.Level); i == 0 || is > level {
			level = is
		}
	}
	return level
}

// slogLevel is one of syslog's, of which all above warning are errors.
func slogLevel(l resource.LogLevel) slog.Level {
	switch l {
	case resource.LevelDebug:
		return slog.LevelDebug
	case "", resource.LevelNotice, resource.LevelInfo:
		return slog.LevelInfo
	case resource.LevelWarning:
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}

// newsSince tells what was told from what is new: a failure that the last run had too
// is none.
func newsSince(told []v1alpha1.ResourceReport) func(engine.ResourceReport) bool {
	was := byRef(told)
	return func(r engine.ResourceReport) bool {
		if r.State == engine.Changed || r.State == engine.Refreshed || r.Audited() {
			return true
		}
		if r.Left {
			return false
		}
		is := resourceReport(r)
		before, ok := was[is.Ref]
		return !ok || before.State != is.State || before.Message != is.Message
	}
}
