package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/external/store"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/host/trace"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/reconcile"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/cluster"
	"github.com/fettle-dev/fettle/nodeagent/keyring"
	"github.com/fettle-dev/fettle/nodeagent/lease"
	"github.com/fettle-dev/fettle/nodeagent/programs"
	"github.com/fettle-dev/fettle/nodeagent/schedule"
	"github.com/fettle-dev/fettle/nodeagent/status"
	"github.com/fettle-dev/fettle/nodeagent/types"
)

// An Agent manages one host. Run uses one goroutine for everything except the watch, the Lease and requests, so an
// API server that hangs does not delay runs.
type Agent struct {
	Config
	cluster  *cluster.Cluster
	catalogs *catalogs.Store
	keys     *keyring.Keyring
	runner   *runner
	loop     *reconcile.Loop
	watched  host.Host // the host itself: Config.Host may be a trace
	schedule *schedule.Schedule
	objects  mailbox
	watchdog watchdog
	ready    readiness
	disabled *disabledWatch
	fence    *lease.Fence

	// background is everything outside the agent's own goroutine. After a request, it sends the
	// function to call on results.
	background sync.WaitGroup
	// start calls f in the background, with the context of Run: what it does may take longer than the run or the
	// command during which it was started.
	start      func(f func(context.Context))
	results    chan func(context.Context)
	written    chan func() // results of writing the status, which also count during a run
	confirming atomic.Bool // a request is to open the fence

	desired
	published   published
	simulations simulations
	// failure is why the last run did not take place; nil if it did.
	failure *status.Problem
	// known are the facts of the last run that gathered them; nil before it.
	known resource.Facts
	// started means that a run has finished since the agent started.
	started bool
}

// New returns an agent. It makes no request to the cluster.
func New(c Config) (*Agent, error) {
	c = c.complete()
	remote, err := cluster.Connect(c.Cluster, c.Node)
	if err != nil {
		return nil, err
	}
	documents := func(name string) *state.Documents {
		return state.NewDocuments(c.StateDir, name, state.Options{Now: c.Clock.Now})
	}
	external := types.NewStore(documents("types"), remote, c.Log.Warn)
	a := &Agent{
		Config:   c,
		watched:  c.Host,
		cluster:  remote,
		keys:     keyring.New(keyring.Config{Node: c.Node, Disk: documents("keys"), MaxAge: c.KeyAge, Now: c.Clock.Now, Warn: c.Log.Warn}),
		catalogs: catalogs.NewStore(documents("catalogs"), remote.Catalog, external, c.Log.Warn),
		objects:  mailbox{ready: make(chan struct{}, 1)},
		results:  make(chan func(context.Context)),
		written:  make(chan func()),
		fence:    &lease.Fence{},

		simulations: simulations{asked: make(chan func())},
	}
	if c.Log.Enabled(context.Background(), slog.LevelDebug) {
		a.Host = trace.New(c.Host, c.Clock.Now, func(line string) { c.Log.Debug(line) })
	}
	a.loop = &reconcile.Loop{Clock: c.Clock, Corrected: a.onCorrected, Warn: a.warnUnwatched, Wait: a.awaitCommand, MayCorrect: func() bool { return a.whyDisabled() == "" }}
	a.runner = &runner{
		loop: a.loop,
		node: c.Node, kinds: c.Kinds, types: external, programs: a.newPrograms(external), bucket: c.Bucket, own: c.Own, open: a.keys.Open, fence: a.fence, now: c.Clock.Now, log: c.Log, progress: a.markBusy,
		control: hostrun.Options{
			Dir: c.StateDir, State: state.Options{Source: state.Cluster, Now: c.Clock.Now}, Host: a.Host,
			Limit: c.Limit, Before: c.Before, After: c.After, Suspended: a.suspended, Warn: func(message string) { c.Log.Warn(message) },
		},
	}
	if err := a.watchHost(); err != nil {
		c.Log.Warn("drift and disabled runs are noticed only at the interval, until the host can be watched", "error", err)
	}
	return a, nil
}

// newPrograms returns the programs of external types, which are stored on the host.
func (a *Agent) newPrograms(known *types.Store) *programs.Programs {
	dir := path.Join(cmp.Or(a.HostStateDir, state.DefaultDir), "programs")
	return programs.New(programs.Config{
		Store: store.NewSigned(a.watched, dir, a.Images.Keys), Registry: a.Images, Types: known, Clock: a.Clock, Random: a.Random, Log: a.Log,
		Start: func(f func(context.Context)) { a.start(f) },
		OnPulled: func(ctx context.Context) {
			select {
			case a.results <- func(ctx context.Context) { a.run(ctx, v1alpha1.TriggerChange) }:
			case <-ctx.Done():
			}
		},
	})
}

// Alive returns an error if the agent has been busy with a single step, such as one resource, for hours: a restart
// may help. An agent that can't reach its cluster is alive. Safe for concurrent use.
func (a *Agent) Alive() error { return a.watchdog.check(a.Clock.Now()) }

// Ready returns an error until the first run since the start has finished, even if resources failed in it. If there is
// nothing to run, or runs are disabled on the host, the agent is ready without a run. It need not have reached its
// cluster. Safe for concurrent use.
func (a *Agent) Ready() error { return a.ready.check() }

// markBusy tells the watchdog that a new step begins.
func (a *Agent) markBusy() { a.watchdog.busy(a.Clock.Now()) }

// Run manages the host until ctx ends. It then finishes the current resource, saves the
// state and returns nil. A restart may fix an error.
func (a *Agent) Run(ctx context.Context) error {
	defer func() {
		_ = a.loop.Watcher.Close() // nothing is buffered
		a.disabled.close()
	}()
	ctx, stop := context.WithCancelCause(ctx)
	a.start = func(f func(context.Context)) { a.background.Go(func() { f(ctx) }) }
	a.start(func(ctx context.Context) { a.cluster.Watch(ctx, a.objects.put) })
	renewer := lease.Renewer{Renew: a.renewLease, Clock: a.Clock, Random: a.Random, Log: a.Log}
	a.start(renewer.Run)
	a.start(a.receiver().Run)
	defer a.background.Wait()
	defer stop(nil)
	defer a.simulations.end()

	a.keys.Load()
	a.target = a.catalogs.LastGood()
	a.schedule = schedule.New(a.Interval, a.Splay, a.Clock.Now(), a.Random)
	for ctx.Err() == nil {
		a.step(ctx)
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// step waits for the next event and handles it.
func (a *Agent) step(ctx context.Context) {
	a.checkDisabled(ctx)
	timer := a.Clock.NewTimer(a.schedule.Wait(a.Clock.Now(), earliest(a.suspensionDue(), a.loop.Due())))
	defer timer.Stop()
	a.watchdog.idle()
	select {
	case <-ctx.Done():
		return
	case <-a.objects.ready:
		a.markBusy()
		a.onNodeCatalog(ctx, a.objects.take())
	case onResult := <-a.results:
		a.markBusy()
		onResult(ctx)
	case onWritten := <-a.written:
		a.markBusy()
		onWritten()
	case begin := <-a.simulations.asked:
		a.markBusy()
		begin()
	case <-a.disabled.ready():
		a.markBusy()
		a.onDisabled()
	case <-a.loop.Watcher.Ready():
		a.markBusy()
		a.onChange(ctx)
	case <-timer.C():
		a.markBusy()
		a.onTimer(ctx)
	}
}

// onChange records changes on the host, and corrects drift that does not have to wait.
func (a *Agent) onChange(ctx context.Context) {
	a.loop.Poll()
	if a.loop.CorrectionDue() {
		a.correct(ctx)
	}
}

// onTimer starts the work that is due.
func (a *Agent) onTimer(ctx context.Context) {
	now := a.Clock.Now()
	switch {
	case a.schedule.RunDue(now):
		a.run(ctx, v1alpha1.TriggerInterval)
		if a.schedule.RetryDue(now) { // a due retry does not wait for the next timer
			a.retry(ctx)
		}
	case a.schedule.ChangeDue(now):
		a.startChange(ctx)
	case a.loop.RunDue():
		a.run(ctx, v1alpha1.TriggerDrift)
	case a.loop.CorrectionDue():
		a.correct(ctx)
	case a.schedule.RetryDue(now):
		a.retry(ctx)
	}
}

// retry repeats the last failed step.
func (a *Agent) retry(ctx context.Context) {
	a.schedule.RetryStarted()
	if a.problem != nil || a.failure != nil {
		a.assembleAndApply(ctx)
		return
	}
	a.publishStatus()
}

// request makes a request in the background. The agent's goroutine then takes the function that the request returns from
// results, and calls it, unless Run has ended.
func request[F any](a *Agent, results chan<- F, request func(context.Context) (onResult F)) {
	a.start(func(ctx context.Context) {
		onResult := request(ctx)
		if ctx.Err() != nil { // the request was cancelled
			return
		}
		select {
		case results <- onResult:
		case <-ctx.Done():
		}
	})
}
