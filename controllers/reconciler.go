// Package controllers reconciles the fleet: it compiles what users write into what agents read,
// and aggregates what agents report into what users read.
//
// There is one reconciler, [Reconciler], over everything, because what a node gets depends on all
// resources that select it, and the status of a resource on all its nodes. Begin with its method
// reconcile, which has the order of the steps. What a reconciliation computes is in values that the
// steps return and take. Plans are functions of such values, here, below internal/fleet and in
// internal/compiler; a step that reads from the cluster or writes to it is a type of its own, with
// the clients that it needs and what it has to remember. Nothing here knows any kind of resource.
//
// With RolloutPolicies, a change takes this way: catalogCompiler.revise compiles what each revision in use gives to nodes; rolloutPlanner.plan
// observes nodes, and has [rollout.Aim] and [rollout.Next] decide; rollouts.writeAll writes that to the statuses of policies; assigner.assign
// gives each node a revision by these; and decide and the publisher go on as they do without policies.
package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
	"github.com/fettle-dev/fettle/internal/fleet/sources"
	"github.com/fettle-dev/fettle/internal/fleet/traces"
	"github.com/fettle-dev/fettle/internal/resource"
)

// The rights for the kinds that people write are in hack/manifests.
//
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=list;watch
// +kubebuilder:rbac:groups=fettle.dev,resources=nodecatalogs,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=fettle.dev,resources=catalogs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=fettle.dev,resources=catalogrevisions,verbs=list;watch;create;delete
// +kubebuilder:rbac:groups=fettle.dev,resources=rolloutpolicies,verbs=list;watch
// +kubebuilder:rbac:groups=fettle.dev,resources=rolloutpolicies/status,verbs=update
// +kubebuilder:rbac:groups=fettle.dev,resources=fleets,verbs=list;watch;create
// +kubebuilder:rbac:groups=fettle.dev,resources=fleets/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fettle-nodes,resources=leases,verbs=list;watch;create;patch

// Options are what a [Reconciler] depends on. Client, Live, Recorder, Clock and Metrics are required.
type Options struct {
	// Client reads from the caches that SetupWithManager fills, and writes.
	Client client.Client
	// Live reads from the API server: ConfigMaps that resources refer to, and the definitions of
	// kinds.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Kinds    []resource.Kind // the built-in ones
	// LeaseDuration is the time after which an agent without a heartbeat is silent, in whole
	// seconds; 0 is heartbeat.DefaultLeaseDuration.
	LeaseDuration time.Duration
	// LeastSoak is how long nodes soak in rollouts even if a policy says less: see [LeastSoak]. 0 leaves it to the policies.
	LeastSoak time.Duration
	// MaxDeselection is the share of nodes, in percent, that may lose resources within ten
	// minutes because they changed; nil is deselection.DefaultMaxPercent, and 100 sets no limit.
	MaxDeselection *int
	// Protect is called with true before this manager adds finalizers to resources, and with false
	// when none has one: see installation.Protect. No finalizer is added while it returns an error.
	// It may be nil.
	Protect func(ctx context.Context, needed bool) error
	// Owner returns the owner of the object Fleet, which is deleted with it; nil has none.
	Owner func(ctx context.Context) (*metav1.OwnerReference, error)
	// Metrics: see [NewMetrics].
	Metrics *Metrics
	// Traces records spans; nil records none.
	Traces *traces.Recorder
}

// A Reconciler compiles the catalogs of all nodes and aggregates the status of all resources. One
// reconciliation runs at a time. Create it with [New].
type Reconciler struct {
	clock      clock.PassiveClock
	metrics    *Metrics
	traces     *traces.Recorder
	maxPercent int // of the nodes that may lose resources, or fall silent, at once without a hold

	// Heartbeats have the Leases that watches observe.
	Heartbeats *heartbeat.Monitor
	schedule   schedule
	watcher    watcher
	latest     latest

	// The steps of a reconciliation, in their order.
	gatherer    gatherer
	definitions definitions
	compiler    catalogCompiler
	rollouts    rollouts
	publisher   publisher
	collector   catalogCollector
	leases      leases
	nodes       nodeTracker
	finalizers  finalizers
	statuses    statusWriter
	drift       driftEvents
	fleetStatus fleetStatusWriter

	// What the next reconciliation continues: see decide.
	desired desired
}

// New returns the Reconciler of a manager that has written nothing yet.
func New(o Options) *Reconciler {
	r := &Reconciler{
		clock: o.Clock, metrics: o.Metrics, traces: o.Traces, Heartbeats: &heartbeat.Monitor{},
		maxPercent: *cmp.Or(o.MaxDeselection, new(deselection.DefaultMaxPercent)),

		definitions: definitions{client: o.Client, live: o.Live, clock: o.Clock},
		publisher:   publisher{client: o.Client, recorder: o.Recorder, clock: o.Clock, metrics: o.Metrics, traces: o.Traces, specs: specs{}, refusals: limits.Refusals{}},
		collector:   catalogCollector{client: o.Client},
		finalizers:  finalizers{client: o.Client, protectPermissions: o.Protect},
		statuses:    statusWriter{client: o.Client, recorder: o.Recorder, written: map[v1alpha1.ResourceRef]writtenStatus{}},
		drift:       driftEvents{recorder: o.Recorder},
		fleetStatus: fleetStatusWriter{client: o.Client, clock: o.Clock, metrics: o.Metrics, owner: o.Owner},
	}
	external := &externalkinds.Kinds{Cached: o.Client, Live: o.Live}
	r.gatherer = gatherer{client: o.Client, external: external}
	leaseDuration := cmp.Or(o.LeaseDuration, heartbeat.DefaultLeaseDuration)
	store := &revisionStore{client: o.Client, live: o.Live}
	r.rollouts = rollouts{
		client: o.Client, live: o.Live, recorder: o.Recorder, clock: o.Clock, metrics: o.Metrics, store: store,
		planner: rolloutPlanner{heartbeats: r.Heartbeats, leaseDuration: leaseDuration, refusals: r.publisher.refusals, leastSoak: o.LeastSoak},
	}
	r.compiler = catalogCompiler{
		client: o.Client, live: o.Live, clock: o.Clock, metrics: o.Metrics, traces: o.Traces, kinds: o.Kinds,
		heartbeats: r.Heartbeats, maxPercent: r.maxPercent, sources: &sources.Sources{}, compiler: &compiler.Compiler{}, revisions: store,
	}
	r.leases = leases{client: o.Client, clock: o.Clock, heartbeats: r.Heartbeats, duration: leaseDuration}
	r.nodes = nodeTracker{heartbeats: r.Heartbeats}
	r.latest = latest{client: o.Client, live: o.Live}
	r.watcher = watcher{
		clock: o.Clock, recorder: o.Recorder, metrics: o.Metrics, traces: o.Traces, live: o.Live,
		schedule: &r.schedule, heartbeats: r.Heartbeats, drift: &r.drift, external: external,
	}
	return r
}

// Invalidate has the next reconciliation compile. It is safe for concurrent use.
func (r *Reconciler) Invalidate() { r.schedule.invalidate() }

// RecordEdit is Invalidate for a change by people, which more may follow: the next reconciliation
// waits for a batch of them.
func (r *Reconciler) RecordEdit() { r.schedule.recordEdit(r.clock.Now()) }

// CheckHeartbeats finds the agents that are silent, and reports whether they are others than before.
// While the API server does not answer, and for one lease duration after that, none becomes silent: it
// may be what keeps agents from renewing their Leases, and one whose etcd hangs breaks no watch.
func (r *Reconciler) CheckHeartbeats(ctx context.Context) (changed bool) {
	return r.watcher.checkHeartbeats(ctx)
}

// Reconcile reconciles the whole fleet, whatever the request says.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := r.clock.Now()
	if wait := r.schedule.untilBatchCloses(now); wait > 0 && r.desired.compilation != nil {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// Asked before anything is read: a later change may not be in the caches yet.
	due := r.schedule.begin(now)
	wait, err := r.reconcile(ctx, due || r.desired.compilation == nil)
	if err != nil {
		r.metrics.reconcileErrors.Inc()
		r.Invalidate()
		return ctrl.Result{}, fmt.Errorf("cannot reconcile the fleet: %w", err)
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// reconcile gathers what there is, compiles and publishes what nodes are to have if that is due, and
// reports what nodes have. Each step takes what the steps before it have returned. It returns when to
// come back though nothing happens. Where a part fails, the others go on.
func (r *Reconciler) reconcile(ctx context.Context, due bool) (time.Duration, error) {
	sc, err := r.gather(ctx)
	if err != nil {
		return 0, err
	}
	if wait := sc.external.Syncing; wait > 0 {
		r.Invalidate()
		return wait, nil
	}
	var all results
	if err := r.update(ctx, sc, due || sc.uninstall.ended, &all); err != nil {
		return 0, err
	}
	desired := r.desired
	all.add(r.scheduleCompilation(sc, desired), nil)
	r.maintain(ctx, sc, desired, &all)
	r.report(ctx, sc, desired, &all)
	return all.wait(), errors.Join(all.errs...)
}

// update compiles if that is due, or if rollouts go on with what the last compilation lacks. It advances rollouts, and publishes what any
// of this changes.
func (r *Reconciler) update(ctx context.Context, sc *scope, due bool, all *results) (err error) {
	compiled, specs := r.desired.compilation, r.publisher.specs.newest(sc.nodeCatalogs)
	due = due || !compiled.covers(sc, specs)
	var unpublished error
	if due {
		var span *traces.Span
		ctx, span = r.traces.Start(ctx, "reconcile")
		defer func() { span.End(cmp.Or(err, unpublished)) }()
		if compiled, err = r.compiler.compile(ctx, sc, specs, compiled); err != nil {
			return err
		}
	}
	assigned := r.desired.assignments
	if !sc.uninstall.inProgress() {
		next, wait, err := r.rollouts.advance(ctx, sc, specs, compiled, r.desired.marks)
		all.add(wait, err)
		assigned = next
	}
	if !due && assigned.sameAs(r.desired.assignments) && !assigned.outstanding(specs, r.desired.holds) {
		r.desired.assignments = assigned // nodes may wait for another reason
		return nil
	}
	unpublished = r.publisher.publish(ctx, sc, r.decide(sc, specs, compiled, assigned))
	all.add(0, unpublished)
	return nil
}

// A scope is what a reconciliation begins with. Nothing of it changes afterwards.
type scope struct {
	*snapshot
	policySet  *policies.Set                 // of the snapshot's policies
	selections map[string]policies.Selection // of nodes by policies, by node
	disabled   *v1alpha1.Disabled            // of the Fleet as it was last seen, nil if it disables nothing
	uninstall  uninstall
}

// gather reads the cluster. Policies have the status that this manager has written last, which the cache may lack. While the resources of
// a new kind have yet to be listed, the scope has only the snapshot.
func (r *Reconciler) gather(ctx context.Context) (*scope, error) {
	s, err := r.gatherer.gather(ctx, r.clock.Now())
	if err != nil {
		return nil, err
	}
	s.policies = r.rollouts.newest(s.policies)
	sc := &scope{snapshot: s, policySet: policies.New(s.policies), disabled: r.fleetStatus.observe(s.fleet)}
	if s.external.Syncing > 0 {
		return sc, nil
	}
	sc.selections = selectionsOf(s.nodes, sc.policySet)
	missing := r.publisher.specs.observe(s)
	sc.uninstall, err = r.definitions.check(ctx, s, missing || r.desired.vanished(s))
	return sc, err
}

// decide decides what is published of a compilation, given the newest known specs of all NodeCatalogs, and notes what the next
// reconciliation continues. Nothing is published, and nothing decided, while Fettle is being uninstalled.
func (r *Reconciler) decide(sc *scope, specs map[string]spec, compiled *compilation, assigned assignments) decision {
	decided := decision{desired: desired{compiled, r.desired.holds, assigned}}
	if !sc.uninstall.inProgress() {
		decided = decide(sc, specs, decided.desired, history{r.clock.Now(), r.maxPercent, r.desired.holds, r.publisher.refusals})
		r.latest.managed.Store(&Managed{Resources: len(compiled.generations), Nodes: len(compiled.Nodes)})
	}
	r.nodes.track(r.desired, decided)
	r.latest.setBase(decided.desired)
	r.desired = decided.desired
	return decided
}

// scheduleCompilation sets when to compile though nothing changes, and returns when that is.
func (r *Reconciler) scheduleCompilation(sc *scope, d desired) time.Duration {
	now := r.clock.Now()
	var wait limits.Wait
	switch {
	case sc.uninstall.inProgress():
		wait.Add(definitionsPeriod)
	default:
		if at := d.reassignAt; !at.IsZero() {
			wait.Add(max(at.Sub(now), limits.Debounce))
		}
		wait.Add(r.publisher.refusals.Next(now))
		if len(d.marks) > 0 {
			wait.Add(d.budget.Next(now))
		}
	}
	r.schedule.compileAfter(time.Duration(wait), now)
	return time.Duration(wait)
}

// maintain writes what agents need besides the desired state, and deletes what none needs any more.
func (r *Reconciler) maintain(ctx context.Context, sc *scope, d desired, all *results) {
	all.add(r.collector.collect(ctx, sc.snapshot, d, r.clock.Now()))
	all.add(r.leases.reconcile(ctx, sc.snapshot))
	all.add(r.leases.markSilent(ctx, sc.nodeCatalogs))
}

// report writes what users read, and lets resources go that nodes have cleaned up.
func (r *Reconciler) report(ctx context.Context, sc *scope, d desired, all *results) {
	now := r.clock.Now()
	nodes := r.nodes.observe(sc, d, &r.publisher, now)
	all.add(r.publisher.mark(ctx, sc, nodes))
	waiting := planDeletions(sc, d, nodes)
	all.add(r.finalizers.reconcile(ctx, sc, waiting))
	statuses, fleetCounts := planStatuses(sc, d, nodes, &r.nodes.records, metav1.NewTime(now))
	r.metrics.setCounts(fleetCounts)
	all.add(r.statuses.write(ctx, append(statuses, planDeletionStatuses(waiting, metav1.NewTime(now))...), sc.snapshot, now))
	all.add(0, r.statuses.writeTypes(ctx, sc.external.Types))
	all.add(r.drift.record(sc.live, d.Selected, now), nil)
	all.add(r.fleetStatus.write(ctx, sc, fleetCounts, &r.nodes.records))
	all.add(sc.external.Retry, nil)
	all.add(resyncPeriod, nil)
}

// resyncPeriod is how often the fleet is reconciled though nothing happens. Nothing is compiled then, and
// only what differs is written.
const resyncPeriod = time.Minute

// results collect what the steps of a reconciliation return: when to come back, 0 for never, and why something failed.
type results struct {
	next limits.Wait
	errs []error
}

func (r *results) add(wait time.Duration, err error) {
	r.next.Add(wait)
	r.errs = append(r.errs, err)
}

func (r *results) wait() time.Duration { return time.Duration(r.next) }
