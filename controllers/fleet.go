// Package controllers reconciles the fleet: it compiles what users write into what agents read,
// and aggregates what agents report into what users read.
//
// There is one reconciler, [Fleet], over everything, because what a node gets depends on all
// resources that select it, and the status of a resource on all its nodes. Each reconciliation
// gathers state from caches, plans in pure functions, and writes what differs. The plans are
// below internal/fleet and in internal/compiler. Nothing here knows any kind of resource.
package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/fleet/cleanup"
	"github.com/fettle-dev/fettle/internal/fleet/counts"
	"github.com/fettle-dev/fettle/internal/fleet/deselection"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
	"github.com/fettle-dev/fettle/internal/fleet/externalkinds"
	"github.com/fettle-dev/fettle/internal/fleet/heartbeat"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/progress"
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
// +kubebuilder:rbac:groups=fettle.dev,resources=catalogs,verbs=list;watch;create;delete
// +kubebuilder:rbac:groups=fettle.dev,resources=fleets,verbs=list;watch;create
// +kubebuilder:rbac:groups=fettle.dev,resources=fleets/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fettle-nodes,resources=leases,verbs=list;watch;create;patch

// Fleet compiles the catalogs of all nodes and aggregates the status of all resources. One
// reconciliation runs at a time.
type Fleet struct {
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
	// MaxDeselection is the share of nodes, in percent, that may lose resources within ten
	// minutes because they changed; nil is deselection.DefaultMaxPercent, and 100 sets no limit.
	MaxDeselection *int
	// Protect is called with true before this manager adds finalizers to resources, and with false
	// when none has one: see installation.Protect. No finalizer is added while it returns an error.
	// It may be nil.
	Protect func(ctx context.Context, needed bool) error
	// Owner returns the owner of the object Fleet, which is deleted with it; nil has none.
	Owner func(ctx context.Context) (*metav1.OwnerReference, error)
	// Metrics are required: see [NewMetrics].
	Metrics *Metrics
	// Traces records spans; nil records none.
	Traces *traces.Recorder
	// Heartbeats have the Leases that watches observe.
	Heartbeats heartbeat.Monitor

	// Set by watches.
	outdated    atomic.Bool // something that is compiled has changed
	remote      atomic.Bool // there are Remote types, so what agents report may decide which nodes act
	batch       limits.BatchWindow
	quotas      limits.NodeQuotas
	unreachable bool // the API server did not answer the last probe; of CheckHeartbeats alone

	// The desired state.
	external    externalkinds.Kinds
	sources     sources.Sources
	compiler    compiler.Compiler
	compiled    *compilation // nil before the first reconciliation
	recompileAt time.Time    // though nothing has changed; zero for never
	planBase    atomic.Pointer[planning.Base]
	placeAt     time.Time // when a silent node has stopped acting for resources of Remote types; zero for never

	// What is published.
	specs       specs
	refusals    limits.Refusals
	edits       deselection.Edits
	budget      deselection.Budget
	hold        deselection.Hold
	held        map[string]*v1alpha1.Held // by node
	uninstall   uninstall
	managed     atomic.Pointer[Managed]
	fleetSpec   v1alpha1.FleetSpec   // of the Fleet as it was last seen
	unusedSince map[string]time.Time // by name of a Catalog

	// The reported state.
	progress            progress.Tracker
	corrected, detected drift.Summary // drift by what happened to it
	records             drift.Records
	counts              *counts.Fleet // of the last reconciliation
	overview            overview
	// statusWritten has the statuses that were written lately, and of those with drift all.
	statusWritten map[v1alpha1.ResourceRef]writtenStatus
	// deletions are the resources that are being deleted, with the nodes that are waited for.
	deletions map[v1alpha1.Resource]*cleanup.Waiting
}

// Managed counts what a fleet has.
type Managed struct{ Resources, Nodes int }

// Managed returns what the fleet had when it was last published. It is safe for concurrent use.
func (r *Fleet) Managed() Managed {
	if m := r.managed.Load(); m != nil {
		return *m
	}
	return Managed{}
}

// Invalidate has the next reconciliation compile. It is safe for concurrent use.
func (r *Fleet) Invalidate() { r.outdated.Store(true) }

// NoteEdit is Invalidate for a change by people, which more may follow: the next reconciliation
// waits for a batch of them.
func (r *Fleet) NoteEdit() {
	r.batch.Note(r.Clock.Now())
	r.Invalidate()
}

// Reconcile reconciles the whole fleet, whatever the request says.
func (r *Fleet) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if wait := r.batch.Left(r.Clock.Now()); wait > 0 && r.compiled != nil {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// Reset before anything is read: a later change may not be in the caches yet.
	compile := r.outdated.Swap(false) || r.compiled == nil || !r.recompileAt.IsZero() && !r.Clock.Now().Before(r.recompileAt)
	wait, err := r.reconcile(ctx, compile)
	if err != nil {
		r.Metrics.reconcileErrors.Inc()
		r.Invalidate()
		return ctrl.Result{}, fmt.Errorf("cannot reconcile the fleet: %w", err)
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// resyncPeriod is how often the fleet is reconciled though nothing happens. Nothing is compiled then, and
// only what differs is written.
const resyncPeriod = time.Minute

// begin is for a manager that has written nothing yet.
func (r *Fleet) begin() {
	r.external.Live, r.external.Cached = r.Live, cmp.Or[client.Reader](r.external.Cached, r.Client)
	r.specs, r.refusals, r.statusWritten = specs{}, limits.Refusals{}, map[v1alpha1.ResourceRef]writtenStatus{}
}

// compileAndPublish compiles, and publishes unless Fettle is being uninstalled. failed is why some of that is not written;
// everything else goes on.
func (r *Fleet) compileAndPublish(ctx context.Context, s *snapshot) (failed, err error) {
	ctx, span := r.Traces.Start(ctx, "reconcile")
	defer func() { span.End(errors.Join(failed, err)) }()
	begin := r.Clock.Now()
	if err := r.compile(ctx, s); err != nil {
		return nil, err
	}
	compiled := r.Clock.Now()
	r.Metrics.compile.Observe(compiled.Sub(begin).Seconds())
	if !r.uninstall.inProgress() {
		failed = r.publish(ctx, s)
		r.Metrics.observePublish(r.Clock.Since(compiled), r.Clock.Now(), failed)
		r.managed.Store(&Managed{Resources: len(r.compiled.generations), Nodes: len(r.compiled.Nodes)})
	}
	return failed, nil
}

// readFleet remembers the spec of the object Fleet, which is created with it again if somebody deletes it.
func (r *Fleet) readFleet(s *snapshot) {
	if s.fleet != nil {
		r.fleetSpec = s.fleet.Spec
	}
}

// reconcile returns when to come back though nothing happens. Where a part fails,
// the others go on.
func (r *Fleet) reconcile(ctx context.Context, compile bool) (time.Duration, error) {
	if r.compiled == nil {
		r.begin()
	}
	s, err := r.gather(ctx)
	if err != nil {
		return 0, err
	}
	r.readFleet(s)
	if wait := s.external.Syncing; wait > 0 {
		r.Invalidate()
		return wait, nil
	}
	uninstalling := r.uninstall.inProgress()
	if err := r.checkDefinitions(ctx, s); err != nil {
		return 0, err
	}
	var failed []error
	if compile || uninstalling && !r.uninstall.inProgress() {
		unpublished, err := r.compileAndPublish(ctx, s)
		if err != nil {
			return 0, err
		}
		failed = append(failed, unpublished)
	}
	wait := limits.Wait(r.scheduleRecompile())
	wait.Add(resyncPeriod)
	wait.Add(s.external.Retry)
	for _, step := range []func(context.Context, *snapshot) (time.Duration, error){
		r.collectCatalogs, r.reconcileLeases, r.markNodes, r.markSilentNodes, r.reconcileFinalizers, r.reportStatuses, r.reportTypes, r.reportDrift, r.reportFleet,
	} {
		again, err := step(ctx, s)
		wait.Add(again)
		failed = append(failed, err)
	}
	return time.Duration(wait), errors.Join(failed...)
}

// scheduleRecompile sets when to compile though nothing changes.
func (r *Fleet) scheduleRecompile() time.Duration {
	var wait limits.Wait
	switch {
	case r.uninstall.inProgress():
		wait.Add(definitionsPeriod)
	default:
		if !r.placeAt.IsZero() {
			wait.Add(max(r.placeAt.Sub(r.Clock.Now()), limits.Debounce))
		}
		wait.Add(r.refusals.Next(r.Clock.Now()))
		if len(r.held) > 0 {
			wait.Add(r.budget.Next(r.Clock.Now()))
		}
	}
	r.recompileAt = time.Time{}
	if wait > 0 {
		r.recompileAt = r.Clock.Now().Add(time.Duration(wait))
	}
	return time.Duration(wait)
}
