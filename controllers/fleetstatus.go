package controllers

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/counts"
	"github.com/fettle-dev/fettle/internal/fleet/drift"
)

// fleetStatusPeriod is the minimum time between two writes of the object Fleet.
const fleetStatusPeriod = 10 * time.Second

// A fleetStatusWriter writes the object Fleet, and remembers what the cluster has. Nothing else writes its status, which the cache may not
// have yet.
type fleetStatusWriter struct {
	client  client.Client
	clock   clock.PassiveClock
	metrics *Metrics
	owner   func(ctx context.Context) (*metav1.OwnerReference, error) // nil for none

	known  bool // there is an object, and this is its status
	status v1alpha1.FleetStatus
	at     time.Time          // of the last write
	spec   v1alpha1.FleetSpec // as it was last seen: the object is created with it again if somebody deletes it
}

// observe records the object, and returns how it disables nodes. The object is nil if it does not exist, the result if it disables none.
func (w *fleetStatusWriter) observe(fleet *v1alpha1.Fleet) *v1alpha1.Disabled {
	if fleet != nil {
		w.spec = fleet.Spec
	}
	return w.spec.Disabled
}

// write writes the object Fleet if it has changed, and returns when that is due.
func (w *fleetStatusWriter) write(ctx context.Context, sc *scope, fleetCounts *counts.Counts, records *drift.Records) (time.Duration, error) {
	now := w.clock.Now()
	if sc.uninstall.inProgress() {
		return 0, nil
	}
	if wait := w.at.Add(fleetStatusPeriod).Sub(now); w.known && wait > 0 {
		return wait, nil
	}
	err := w.find(ctx, sc.fleet)
	next := fleetCounts.Status(records, w.status, now)
	w.metrics.setDrift(next.Drift)
	if err == nil && !apiequality.Semantic.DeepEqual(next, w.status) {
		err = w.patch(ctx, next)
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		w.known = false // it was deleted, or its definition is missing: the next reconciliation creates it
		return resyncPeriod, nil
	}
	return 0, wrap(err, "cannot write the Fleet")
}

// find reads the object once, and creates it if it does not exist.
func (w *fleetStatusWriter) find(ctx context.Context, fleet *v1alpha1.Fleet) error {
	if fleet != nil {
		if !w.known {
			w.known, w.status = true, fleet.Status
		}
		return nil
	}
	err := w.create(ctx)
	if err == nil {
		// The history of one that was deleted goes on.
		w.known, w.status = true, v1alpha1.FleetStatus{History: w.status.History}
	}
	return err
}

// create creates the object with the spec of one that was deleted: nobody enables nodes by deleting it.
func (w *fleetStatusWriter) create(ctx context.Context) error {
	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}, Spec: *w.spec.DeepCopy()}
	if w.owner != nil {
		owner, err := w.owner(ctx)
		if err != nil {
			return err
		}
		if owner != nil {
			fleet.OwnerReferences = []metav1.OwnerReference{*owner}
		}
	}
	return client.IgnoreAlreadyExists(w.client.Create(ctx, fleet))
}

func (w *fleetStatusWriter) patch(ctx context.Context, next v1alpha1.FleetStatus) error {
	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}}
	// Lists and values that are absent are written out, since a merge patch would keep the old ones.
	err := w.client.Status().Patch(ctx, fleet, mergePatch{"status": map[string]any{
		"updated": next.Updated, "nodes": next.Nodes, "resources": next.Resources, "deselection": next.Deselection, "drift": next.Drift, "history": next.History,
	}})
	if err == nil {
		w.status, w.at = next, w.clock.Now()
	}
	return err
}
