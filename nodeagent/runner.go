package nodeagent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/external/definition"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/guard"
	"github.com/fettle-dev/fettle/internal/host/own"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/reconcile"
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
	loop     *reconcile.Loop
	bound    bound
	now      func() time.Time
	log      *slog.Logger
	progress func() // called after each resource
}

// A task is what a runner runs.
type task struct {
	*catalogs.Target
	facts resource.Facts
	prev  []v1alpha1.ResourceReport // the status before
	acts  bool                      // the agent is the one to act for resources of Remote types; others are postponed
}

// run runs a task once. It locks the host only during the run, so that administrators can run Fettle between runs.
// The error is a *state.LockedError if another run is in progress. An error means that the run did not start or that
// its state was not saved.
func (r *runner) run(ctx context.Context, t task) (reconcile.Outcome, error) {
	return r.loop.Run(ctx, r.controlOf(t.Target), func(store engine.Store) reconcile.Catalog {
		c := r.catalog(ctx, t, store)
		r.explainProviders(ctx, c.Items, c.Transaction.Kinds, t.facts)
		r.types.Retain(claimedKinds(store))
		return c
	})
}

// correct corrects drift that is due between two runs.
func (r *runner) correct(ctx context.Context, t task) {
	r.loop.Correct(ctx, r.controlOf(t.Target), func(store engine.Store) reconcile.Catalog { return r.catalog(ctx, t, store) })
}

// controlOf returns how to run a target: in noop without the commands before and after.
func (r *runner) controlOf(t *catalogs.Target) hostrun.Options {
	control := r.control
	if t.Spec.Noop {
		control.Before, control.After = nil, nil
	}
	return control
}

// catalog returns what a task applies.
func (r *runner) catalog(ctx context.Context, t task, store engine.Store) reconcile.Catalog {
	isNews := status.NewsSince(t.prev)
	r.bound.bind(t.Entries, r.typesOf(t.Target, store), r)
	return reconcile.Catalog{
		Items: r.bound.itemsFor(t),
		Transaction: engine.Transaction{
			Host: r.control.Host, Guard: guard.Options{Own: r.own, Access: true}, Bucket: r.bucket, Facts: t.facts, Kinds: r.bound.kinds,
			HostName: r.node, Digest: t.Digest, Noop: t.Spec.Noop, Now: r.now, Trace: r.trace(ctx),
			Withheld: withheld(t.Spec.Withheld), OwnerUID: string(t.UID),
			Observe: func(res report.ResourceReport) {
				res.Attribute(r.loop.Watcher.Author)
				r.logResource(res, isNews(res))
			},
		},
	}
}

// typesOf returns the external types of a target, and former ones whose objects are still to be
// removed. It does not wait for programs that have to be pulled.
func (r *runner) typesOf(t *catalogs.Target, claims engine.Store) []*definition.Definition {
	former := slices.DeleteFunc(claimedKinds(claims), func(kind string) bool {
		return slices.ContainsFunc(t.Types, func(d *definition.Definition) bool { return d.Spec.Kind == kind })
	})
	return r.programs.Choose(slices.Concat(t.Types, r.types.Former(former)))
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

// claimedKinds returns the kinds of objects that are to be removed or restored once no resource manages them.
func claimedKinds(store engine.Store) []string {
	kinds := map[string]bool{}
	for object := range store.Claims() {
		kinds[object.Kind] = true
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
