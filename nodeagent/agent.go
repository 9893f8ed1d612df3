package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/host/trace"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/version"
)

// An Agent keeps one host. Its Run does everything, in one goroutine but for the
// watch, the sign of life and requests: a cluster that hangs holds up nothing.
type Agent struct {
	Config
	cluster  *cluster
	library  *library
	keys     *keyring
	runner   *runner
	lookout  *drift.Lookout // nil: nothing is watched
	schedule schedule
	news     mailbox
	pulse    pulse

	// beside is all that goes on beside the agent's own goroutine, and answers is what that
	// is to do when a request was answered. seeking is one for catalogs, telling one that
	// writes the status; there is at most one of each.
	beside           sync.WaitGroup
	answers          chan func(context.Context)
	seeking, telling bool

	// object is the NodeCatalog as it was last seen; nil before it was, or when it is gone.
	// wrote is when its status was written last.
	object *v1alpha1.NodeCatalog
	wrote  time.Time
	// target is what the host is kept by: the last good one. problem says why that is
	// not what object says, and failure why the last run did not take place.
	target           *target
	problem, failure *Problem
	// status is what is to be told; last is what it was last made of.
	status v1alpha1.NodeCatalogStatus
	last   *StatusInput
	// started says that a run took place since the agent started.
	started bool
}

// New makes an agent. It makes no request to the cluster yet.
func New(c Config) (*Agent, error) {
	c = c.complete()
	remote, err := connect(c.Cluster, c.Node)
	if err != nil {
		return nil, err
	}
	a := &Agent{
		Config:   c,
		cluster:  remote,
		keys:     &keyring{node: c.Node, disk: state.NewDocuments(c.StateDir, "keys", state.Options{Now: c.Clock.Now}), maxAge: c.KeyAge, now: c.Clock.Now, warn: c.Log.Warn},
		library:  &library{disk: state.NewDocuments(c.StateDir, "catalogs", state.Options{Now: c.Clock.Now}), fetch: remote.catalog, warn: c.Log.Warn},
		schedule: schedule{interval: c.Interval, random: c.Random},
		news:     mailbox{ready: make(chan struct{}, 1)},
		answers:  make(chan func(context.Context)),
	}
	if c.Watch {
		if a.lookout, err = drift.New(c.Host, c.Interval); err != nil {
			c.Log.Warn("drift is corrected at the interval alone", "error", err)
		}
	}
	if c.Log.Enabled(context.Background(), slog.LevelDebug) { // drift watches the host itself
		a.Host = trace.New(c.Host, c.Clock.Now, func(line string) { c.Log.Debug(line) })
	}
	a.runner = &runner{
		node: c.Node, kinds: c.Kinds, bucket: c.Bucket, open: a.keys.open, lookout: a.lookout, now: c.Clock.Now, log: c.Log, ended: a.beat,
		control: hostrun.Options{
			Dir: c.StateDir, State: state.Options{Source: state.Cluster, Now: c.Clock.Now}, Host: a.Host,
			Limit: c.Limit, Before: c.Before, After: c.After, Warn: func(message string) { c.Log.Warn(message) },
		},
	}
	return a, nil
}

// Alive is an error when the agent has been busy with a single thing, such as one
// resource, for hours: starting it again may help. One that can't reach its cluster is
// alive. Safe for concurrent use.
func (a *Agent) Alive() error { return a.pulse.alive(a.Clock.Now()) }

// beat says that the agent goes on to the next thing.
func (a *Agent) beat() { a.pulse.busy(a.Clock.Now()) }

// Run keeps the host until ctx ends: it then finishes the resource in hand, saves its
// state and returns nil. An error is one that starting again may mend.
func (a *Agent) Run(ctx context.Context) error {
	defer func() { _ = a.lookout.Close() }() // nothing is buffered
	ctx, stop := context.WithCancelCause(ctx)
	a.beside.Go(func() { stop(a.cluster.watch(ctx, a.news.put)) })
	a.beside.Go(func() { (&sign{renew: a.cluster.renewLease, clock: a.Clock, random: a.Random, log: a.Log}).run(ctx) })
	defer a.beside.Wait()
	defer stop(nil)

	a.keys.load()
	a.target = a.library.recall()
	a.schedule.first(a.Clock.Now(), a.Splay)
	for ctx.Err() == nil {
		a.step(ctx)
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// step waits for something to do and does it.
func (a *Agent) step(ctx context.Context) {
	timer := a.Clock.NewTimer(a.schedule.wait(a.Clock.Now(), a.lookout.Due()))
	defer timer.Stop()
	a.pulse.rest()
	select {
	case <-ctx.Done():
		return
	case <-a.news.ready:
		a.beat()
		a.see(ctx, a.news.take())
	case answer := <-a.answers:
		a.beat()
		answer(ctx)
	case <-a.lookout.Ready():
		a.lookout.See(a.Clock.Now())
	case <-timer.C():
		a.beat()
		a.due(ctx)
	}
}

// due does what the schedule says.
func (a *Agent) due(ctx context.Context) {
	now := a.Clock.Now()
	switch {
	case a.schedule.runDue(now):
		a.keep(ctx, now)
	case a.schedule.changeDue(now):
		a.begin(ctx)
	case a.driftDue(now):
		a.run(ctx, v1alpha1.TriggerDrift)
	case a.schedule.retryDue(now):
		a.again(ctx)
	}
}

// keep does the run that is due at the interval, by what the host is to be as far as that
// is known. What else is due is not to wait for the next one.
func (a *Agent) keep(ctx context.Context, now time.Time) {
	a.run(ctx, v1alpha1.TriggerInterval)
	if a.schedule.retryDue(now) {
		a.again(ctx)
	}
}

// again tries again what failed.
func (a *Agent) again(ctx context.Context) {
	a.schedule.tried()
	if a.problem != nil || a.failure != nil {
		a.change(ctx)
		return
	}
	a.publish(ctx)
}

func (a *Agent) driftDue(now time.Time) bool {
	due := a.lookout.Due()
	return !due.IsZero() && !now.Before(due)
}

// run runs the target and tells of it.
func (a *Agent) run(ctx context.Context, trigger v1alpha1.RunTrigger) {
	before := a.failure
	a.failure = nil
	a.schedule.ran(a.Clock.Now())
	a.keys.tend(a.object, a.target)
	is := a.facts(ctx)
	if a.target == nil {
		a.tell(ctx, is, nil)
		return
	}
	if !a.started {
		trigger = v1alpha1.TriggerStart
	}
	report, err := a.runner.run(ctx, a.target, is, a.status.Resources)
	report.CachedCatalogStatus = a.cached()
	if ctx.Err() != nil {
		return // it was cut short: there is little to tell, and the next start runs it again
	}
	a.schedule.ran(a.Clock.Now())
	a.Ran(RunSummary{Trigger: trigger, Report: report, Err: err})
	if err != nil {
		a.failed(ctx, is, err, before)
		return
	}
	a.log(trigger, report)
	a.started = true
	a.tell(ctx, is, &Run{Report: report, Generation: a.target.generation, Trigger: trigger, Withheld: a.target.spec.Withheld})
}

// cached says in Puppet's words whether the target is what the cluster says now, as far
// as the cluster could be asked.
func (a *Agent) cached() string {
	if a.object == nil || a.problem != nil {
		return engine.CacheOnFailure
	}
	return engine.CacheNotUsed
}

// failed plans to try a run again. That someone else's is under way is no failure; that
// someone wants none is said once.
func (a *Agent) failed(ctx context.Context, is resource.Facts, err error, before *Problem) {
	a.failure = &Problem{Reason: v1alpha1.ReasonRunFailed, Message: err.Error()}
	a.schedule.failed(a.Clock.Now())
	a.lookout.Forget()
	if _, locked := errors.AsType[*state.LockedError](err); locked {
		a.Log.Info("the run waits", "reason", err)
		return
	}
	if _, disabled := errors.AsType[*state.DisabledError](err); disabled {
		a.failure.Reason = v1alpha1.ReasonDisabled
		if before == nil || *before != *a.failure {
			a.Log.Warn("no run takes place", "reason", err)
		}
	} else {
		a.Log.Error("the run failed", "error", err)
	}
	a.tell(ctx, is, nil)
}

func (a *Agent) log(trigger v1alpha1.RunTrigger, report engine.Report) {
	level := slog.LevelDebug
	switch {
	case report.Message != "":
		level = slog.LevelError
	case report.Status == "changed", trigger == v1alpha1.TriggerStart, trigger == v1alpha1.TriggerChange:
		level = slog.LevelInfo
	}
	attributes := []any{"trigger", string(trigger), "catalog", report.CatalogDigest, "cachedCatalogStatus", report.CachedCatalogStatus}
	if report.Message != "" {
		attributes = append(attributes, "reason", report.Message)
	}
	a.Log.Log(context.Background(), level, report.Summary(), attributes...)
}

// tell makes the status what it is now, and publishes it.
func (a *Agent) tell(ctx context.Context, is resource.Facts, run *Run) {
	in := StatusInput{Now: a.Clock.Now(), AgentVersion: version.String(), PublicKey: a.keys.public(), Facts: is, Problem: cmp.Or(a.problem, a.failure), Run: run}
	if in.Problem == nil && run != nil && run.Report.Message != "" {
		in.Problem = &Problem{Reason: v1alpha1.ReasonRunFailed, Message: run.Report.Message}
	}
	if a.object != nil {
		in.Generation = a.object.Generation
	} else if a.target != nil {
		in.Generation = a.target.generation
	}
	next, changed := Status(a.status, in)
	if a.status = next; changed {
		a.last = &in
	}
	a.publish(ctx)
}
