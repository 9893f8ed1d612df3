package nodeagent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/host/own"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/lease"
	"github.com/fettle-dev/fettle/nodeagent/programs"
	"github.com/fettle-dev/fettle/nodeagent/status"
	"github.com/fettle-dev/fettle/nodeagent/types"
	"github.com/fettle-dev/fettle/providers/external"
)

// A runner runs targets on the host, one at a time.
type runner struct {
	node     string
	kinds    []resource.Kind // built-in
	types    *types.Store    // external ones
	programs *programs.Programs
	bucket   resource.Bucket
	own      *own.Files
	control  hostrun.Options
	open     catalog.Opener
	fence    *lease.Fence
	lookout  *drift.Lookout
	reach    engine.Reach // of the last run of a whole target
	now      func() time.Time
	log      *slog.Logger
	progress func() // called after each resource
	// idle is Transaction.Idle.
	idle func(ctx context.Context, done <-chan struct{}, aside engine.Aside)
}

// A task is what a runner runs.
type task struct {
	*catalogs.Target
	facts resource.Facts
	prev  []v1alpha1.ResourceReport // the status before
	acts  bool                      // the agent is the one to act for resources of Remote types; others are postponed
	// only are the resources to handle, and settled those to which their changes may lead; nil are all. See
	// [engine.Transaction].Only.
	only, settled map[resource.Ref]bool
}

// hasCommands reports whether commands run before or after the runs of a target.
func (r *runner) hasCommands(t *catalogs.Target) bool {
	return !t.Spec.Noop && len(r.control.Before)+len(r.control.After) > 0
}

// run runs a task once. It locks the host only during the run, so that administrators can run Fettle between runs.
// The error is a *state.LockedError if another run is in progress. An error means that the run did not start or that
// its state was not saved.
func (r *runner) run(ctx context.Context, t task) (report.Report, error) {
	around := r.control
	if !r.hasCommands(t.Target) {
		around.Before, around.After = nil, nil
	}
	return hostrun.Run(ctx, around, func(ctx context.Context, store engine.Store) (report.Report, error) {
		kinds := r.kindsOf(t.Target, store)
		items := r.items(t, kinds)
		if !t.acts {
			postponeRemote(items, t.Types)
		}
		transaction := r.transaction(ctx, t, kinds, store)
		if t.only != nil {
			result, err := transaction.Run(ctx, items)
			result.Attribute(r.lookout.Author)
			r.warnUnwatched(r.lookout.EndAside(r.now(), result.Changed()))
			return result, err
		}
		r.explainProviders(ctx, items, kinds, t.facts)
		r.warnUnwatched(r.lookout.Begin(r.now(), items, t.facts))
		result, err := transaction.Run(ctx, items)
		result.Attribute(r.lookout.Author)
		r.warnUnwatched(r.lookout.End(r.now(), items, result.Changed()))
		r.types.Retain(claimedKinds(store))
		return result, err
	})
}

// items are the entries of a task with their types. A partial run of what is read and changed in a moment gets no more than that:
// most of its time would go into the others.
func (r *runner) items(t task, kinds []resource.Kind) []resource.Item {
	if t.only != nil {
		handled, wide := r.reach.Of(t.only, t.settled)
		for ref := range handled {
			wide = wide || !slices.Contains(meanwhileKinds(), ref.Kind)
		}
		if !wide {
			return catalog.Some(t.Entries, kinds, r.open, func(ref resource.Ref) bool { return handled[ref] })
		}
	}
	return catalog.Items(t.Entries, kinds, r.open)
}

func (r *runner) transaction(ctx context.Context, t task, kinds []resource.Kind, store engine.Store) engine.Transaction {
	isNews := status.NewsSince(t.prev)
	transaction := engine.Transaction{
		Host: r.control.Host, Guard: guard.Options{Own: r.own, Access: true}, Bucket: r.bucket, Facts: t.facts, Kinds: kinds, HostName: r.node, Digest: t.Digest, Noop: t.Spec.Noop, Store: store, Now: r.now, Trace: r.trace(ctx),
		Withheld: withheld(t.Spec.Withheld), OwnerUID: string(t.UID), Only: t.only,
		Observe: func(res report.ResourceReport) {
			res.Attribute(r.lookout.Author)
			r.logResource(res, isNews(res))
		},
		Idle: r.idle,
	}
	if t.only == nil {
		transaction.Reach = func(is engine.Reach) { r.reach = is }
	}
	if t.settled != nil {
		transaction.Selected = func(i resource.Item) bool { return t.settled[i.Ref] }
	}
	return transaction
}

// kindsOf returns the built-in kinds, those of the target's types, and those of former types whose things are still to be
// removed. It does not wait for programs that have to be pulled.
func (r *runner) kindsOf(t *catalogs.Target, claims engine.Store) []resource.Kind {
	former := slices.DeleteFunc(claimedKinds(claims), func(kind string) bool {
		return slices.ContainsFunc(t.Types, func(d *definition.Definition) bool { return d.Spec.Kind == kind })
	})
	types := r.programs.Choose(slices.Concat(t.Types, r.types.Former(former)))
	return slices.Concat(r.kinds, external.Kinds(types, fenced{r.programs, r.fence, r.now}))
}

// postponeRemote postpones the resources of Remote types to a run in which the agent acts for them.
func postponeRemote(items []resource.Item, types []*definition.Definition) {
	for i := range items {
		if slices.ContainsFunc(types, func(d *definition.Definition) bool { return d.Spec.Kind == items[i].Ref.Kind && d.IsRemote() }) {
			items[i].Postponed = lease.ErrFenced
		}
	}
}

func hasRemote(all []*definition.Definition) bool {
	return slices.ContainsFunc(all, (*definition.Definition).IsRemote)
}

// fenced are the programs of external types. Those of Remote types are available only while the fence is open.
type fenced struct {
	external.Files
	fence *lease.Fence
	now   func() time.Time
}

// Dir implements [external.Files].
func (f fenced) Dir(ctx context.Context, h host.Reader, d *definition.Definition) (string, error) {
	if d.IsRemote() {
		if err := f.fence.Check(f.now()); err != nil {
			return "", err
		}
	}
	return f.Files.Dir(ctx, h, d)
}

// claimedKinds returns the kinds of things that are to be removed or restored once no resource manages them.
func claimedKinds(store engine.Store) []string {
	kinds := map[string]bool{}
	for thing := range store.Claims() {
		kinds[thing.Kind] = true
	}
	return slices.Collect(maps.Keys(kinds))
}

// explainProviders logs at debug level which providers of the kinds in use work on the host,
// and why the others do not.
func (r *runner) explainProviders(ctx context.Context, items []resource.Item, kinds []resource.Kind, facts resource.Facts) {
	if !r.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, k := range kinds {
		if !slices.ContainsFunc(items, func(i resource.Item) bool { return i.Ref.Kind == k.Name() }) {
			continue
		}
		for _, s := range k.Suitability(facts, r.control.Host) {
			r.log.DebugContext(ctx, s.Explain(k.Name()))
		}
	}
}

// trace returns the function that logs the states of resources; nil unless debug logs are enabled.
func (r *runner) trace(ctx context.Context) func(line string) {
	if !r.log.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return func(line string) { r.log.DebugContext(ctx, line) }
}

// warnUnwatched logs which paths can't be watched.
func (r *runner) warnUnwatched(err error) {
	if err != nil {
		r.log.Warn("drift there is corrected only at the interval", "error", err)
	}
}

// withheld returns the resources that are selected for the node but not among its entries.
func withheld(all []v1alpha1.Withheld) []resource.Withheld {
	var out []resource.Withheld
	for _, w := range all {
		if ref, err := resource.ParseRef(string(w.Ref)); err == nil { // the schema guarantees the form
			out = append(out, resource.Withheld{Ref: ref, Location: w.Location, Why: w.Why()})
		}
	}
	return out
}

// logResource logs the events of a resource. Events that the previous run reported too are logged at debug level.
func (r *runner) logResource(res report.ResourceReport, news bool) {
	r.progress()
	level := logLevel(res)
	if !news {
		level = min(level, slog.LevelDebug)
	}
	for _, line := range res.Lines() {
		r.log.Log(context.Background(), level, line, "resource", res.Ref.String(), "state", string(res.State))
	}
}

// logLevel is the highest level of a resource's events. A failed resource is an error.
func logLevel(res report.ResourceReport) slog.Level {
	if res.State == report.Failed {
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

// slogLevel maps a syslog level. All levels above warning are errors.
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
