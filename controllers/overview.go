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

// overviewPeriod is the minimum time between two writes of the object Fleet.
const overviewPeriod = 10 * time.Second

// An overview writes the object Fleet, and remembers what the cluster has. Nothing else writes its status, which the cache may not
// have yet.
type overview struct {
	client  client.Client
	clock   clock.PassiveClock
	metrics *Metrics
	owner   func(ctx context.Context) (*metav1.OwnerReference, error) // nil for none

	known  bool // there is an object, and this is its status
	status v1alpha1.FleetStatus
	at     time.Time          // of the last write
	spec   v1alpha1.FleetSpec // as it was last seen: the object is created with it again if somebody deletes it
}

// observe takes in the object, nil if there is none, and returns how it disables nodes, nil if it does not.
func (o *overview) observe(fleet *v1alpha1.Fleet) *v1alpha1.Disabled {
	if fleet != nil {
		o.spec = fleet.Spec
	}
	return o.spec.Disabled
}

// write writes the object Fleet if it has changed, and returns when that is due.
func (o *overview) write(ctx context.Context, sc *scope, c *counts.Fleet, records *drift.Records) (time.Duration, error) {
	now := o.clock.Now()
	if sc.uninstall.inProgress() {
		return 0, nil
	}
	if wait := o.at.Add(overviewPeriod).Sub(now); o.known && wait > 0 {
		return wait, nil
	}
	err := o.find(ctx, sc.fleet)
	next := c.Status(records, o.status, now)
	o.metrics.setDrift(next.Drift)
	if err == nil && !apiequality.Semantic.DeepEqual(next, o.status) {
		err = o.patch(ctx, next)
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		o.known = false // it was deleted, or its definition is missing: the next reconciliation creates it
		return resyncPeriod, nil
	}
	return 0, wrap(err, "cannot write the Fleet")
}

// find reads the object once, and creates it if there is none.
func (o *overview) find(ctx context.Context, fleet *v1alpha1.Fleet) error {
	if fleet != nil {
		if !o.known {
			o.known, o.status = true, fleet.Status
		}
		return nil
	}
	err := o.create(ctx)
	if err == nil {
		// The history of one that was deleted goes on.
		o.known, o.status = true, v1alpha1.FleetStatus{History: o.status.History}
	}
	return err
}

// create creates the object with the spec of one that was deleted: nobody enables nodes by deleting it.
func (o *overview) create(ctx context.Context) error {
	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}, Spec: *o.spec.DeepCopy()}
	if o.owner != nil {
		owner, err := o.owner(ctx)
		if err != nil {
			return err
		}
		if owner != nil {
			fleet.OwnerReferences = []metav1.OwnerReference{*owner}
		}
	}
	return client.IgnoreAlreadyExists(o.client.Create(ctx, fleet))
}

func (o *overview) patch(ctx context.Context, next v1alpha1.FleetStatus) error {
	fleet := &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FleetName}}
	// Lists and values that are absent are written out, since a merge patch would keep the old ones.
	err := o.client.Status().Patch(ctx, fleet, mergePatch{"status": map[string]any{
		"updated": next.Updated, "nodes": next.Nodes, "resources": next.Resources, "deselection": next.Deselection, "drift": next.Drift, "history": next.History,
	}})
	if err == nil {
		o.status, o.at = next, o.clock.Now()
	}
	return err
}
