package controllers

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// overviewPeriod is the minimum time between two writes of the object Fleet.
const overviewPeriod = 10 * time.Second

// An overview is what the cluster has as the object Fleet. Nothing else writes its status, which the cache may not have yet.
type overview struct {
	known  bool
	status v1alpha1.FleetStatus
	at     time.Time // of the last write
}

// reportFleet writes the object Fleet if it has changed, and returns when that is due.
func (r *Fleet) reportFleet(ctx context.Context, s *snapshot) (time.Duration, error) {
	now := r.Clock.Now()
	if r.uninstall.inProgress() {
		return 0, nil
	}
	if wait := r.overview.at.Add(overviewPeriod).Sub(now); r.overview.known && wait > 0 {
		return wait, nil
	}
	err := r.readOverview(ctx, s)
	r.counts.Deselection = r.hold.Status()
	next := r.counts.Status(&r.records, r.overview.status, now)
	r.Metrics.setDrift(next.Drift)
	if err == nil && !apiequality.Semantic.DeepEqual(next, r.overview.status) {
		err = r.writeOverview(ctx, next)
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		r.overview.known = false // it was deleted, or its definition is missing: the next reconciliation creates it
		return resyncPeriod, nil
	}
	return 0, wrap(err, "cannot write the Fleet")
}

// readOverview reads the object once, and creates it if there is none.
func (r *Fleet) readOverview(ctx context.Context, s *snapshot) error {
	if s.fleet != nil {
		if !r.overview.known {
			r.overview.known, r.overview.status = true, s.fleet.Status
		}
		return nil
	}
	err := r.createOverview(ctx)
	if err == nil {
		// The history of one that was deleted goes on.
		r.overview.known, r.overview.status = true, v1alpha1.FleetStatus{History: r.overview.status.History}
	}
	return err
}

// createOverview creates the object with the spec of one that was deleted: nobody enables nodes by deleting it.
func (r *Fleet) createOverview(ctx context.Context) error {
	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}, Spec: *r.fleetSpec.DeepCopy()}
	if r.Owner != nil {
		owner, err := r.Owner(ctx)
		if err != nil {
			return err
		}
		if owner != nil {
			fleet.OwnerReferences = []metav1.OwnerReference{*owner}
		}
	}
	return client.IgnoreAlreadyExists(r.Client.Create(ctx, fleet))
}

func (r *Fleet) writeOverview(ctx context.Context, next v1alpha1.FleetStatus) error {
	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}}
	// Lists and values that are absent are written out, since a merge patch would keep the old ones.
	err := r.Client.Status().Patch(ctx, fleet, mergePatch{"status": map[string]any{
		"updated": next.Updated, "nodes": next.Nodes, "resources": next.Resources, "deselection": next.Deselection, "drift": next.Drift, "history": next.History,
	}})
	if err == nil {
		r.overview.status, r.overview.at = next, r.Clock.Now()
	}
	return err
}
