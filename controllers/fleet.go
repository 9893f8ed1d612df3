package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/internal/compiler"
	"github.com/fettle-dev/fettle/internal/resource"
)

// What the manager may do with the kinds that people write is in hack/manifests.
//
// +kubebuilder:rbac:groups="",resources=nodes;configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=list;watch
// +kubebuilder:rbac:groups=fettle.dev,resources=nodecatalogs,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=fettle.dev,resources=catalogs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=fettle-nodes,resources=leases,verbs=list;watch;create;patch

// Fleet compiles the catalogs of all nodes and gathers the status of all resources.
// One pass runs at a time.
type Fleet struct {
	// Client reads from caches that SetupWithManager fills, and writes.
	Client client.Client
	// Live reads from the API server: ConfigMaps that resources name, Catalogs of before and
	// definitions of kinds, which no cache holds, and Nodes before what is theirs is deleted.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Kinds    []resource.Kind
	// LeaseDuration is how long an agent may be silent; 0 is DefaultLeaseDuration.
	LeaseDuration time.Duration
	// MaxDeselection is the share of nodes, in percent, that may lose resources within ten
	// minutes because they changed; nil is DefaultMaxDeselection. 100 never holds any back.
	MaxDeselection *int
	// Metrics may be nil.
	Metrics *Metrics
	// Contact tells when the API server was away; nil: it never is.
	Contact *Contact

	behind         behind
	outdated       atomic.Bool // something that is compiled has changed
	burst          burst
	sources        sources
	secrets        secrets
	facts          factsCache
	compiler       compiler.Compiler
	compiled       *compilation // nil until the first pass
	published      published
	refusals       refusals
	quotas         quotas
	rollout        rollout
	standings      standings
	deselection    deselection
	uninstallation uninstallation
	unused         unusedCatalogs
	written        debounce
	leases         leases
	elected        <-chan struct{} // closed when this manager leads
}

// Reconcile makes one pass. The request says nothing: there is one fleet.
func (r *Fleet) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if wait := r.burst.left(r.Clock.Now()); wait > 0 && r.compiled != nil {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if r.compiled == nil {
		if wait, err := r.catchUp(ctx); wait > 0 || err != nil {
			return ctrl.Result{RequeueAfter: wait}, err
		}
	}
	wait, err := r.pass(ctx)
	return ctrl.Result{RequeueAfter: wait}, err
}

// pass does all that there is to do, and returns when to do so again; 0 for when something
// happens.
func (r *Fleet) pass(ctx context.Context) (time.Duration, error) {
	outdated := r.outdated.Swap(false) // before anything is read: what changes from now on may not be seen
	nodes, err := r.nodeCatalogsByName(ctx)
	if err != nil {
		r.outdated.CompareAndSwap(false, outdated)
		return 0, err
	}
	var again later
	var failed error
	if outdated || r.compiled == nil || r.due(r.Clock.Now()) {
		if err := r.read(ctx, nodes); err != nil {
			r.outdated.Store(true)
			return 0, err
		}
		if failed = r.tell(ctx, nodes); failed != nil {
			r.outdated.Store(true)
		}
	}
	if again.in(r.uninstallation.next()); again.wait == 0 { // else what is held stays so
		again.in(r.deselection.next(r.Clock.Now()))
		again.in(r.refusals.next(r.Clock.Now()))
	}
	wait, err := r.collectUnused(ctx, nodes)
	again.in(wait)
	failed = errors.Join(failed, err)
	r.doubtSilence(ctx)
	wait, err = r.report(ctx, nodes)
	again.in(wait)
	failed = errors.Join(failed, err)
	wait, err = r.keepLeases(ctx)
	again.in(wait)
	failed = errors.Join(failed, err)
	if failed != nil {
		return 0, fmt.Errorf("cannot bring the fleet up to date: %w", failed)
	}
	return again.wait, nil
}

// due reports whether it is time to compile again though nothing has changed.
func (r *Fleet) due(now time.Time) bool {
	return r.deselection.due(now) || r.uninstallation.due(now) || r.refusals.due(now)
}

// tell publishes what was compiled, but not to nodes whose manager is being uninstalled.
func (r *Fleet) tell(ctx context.Context, nodes nodeCatalogs) error {
	if uninstalled, err := r.isUninstalled(ctx, nodes); uninstalled || err != nil {
		return err
	}
	return r.publish(ctx, nodes)
}

// later is the earliest of several times to come back.
type later struct{ wait time.Duration }

// in adds a time; 0 is none.
func (l *later) in(d time.Duration) {
	if d > 0 && (l.wait == 0 || d < l.wait) {
		l.wait = d
	}
}
