package nodeagent

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/cluster"
	"github.com/fettle-dev/fettle/nodeagent/schedule"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// desired is what the host should be: the NodeCatalog as it was last seen, and what was assembled from one.
type desired struct {
	object    *v1alpha1.NodeCatalog // nil before it was seen and after it was deleted
	confirmed *v1alpha1.NodeCatalog // as it was when the fence was opened last; nil before
	target    *catalogs.Target      // the last good target; nil if there is none
	problem   *status.Problem       // why object cannot be applied; nil if it can
	// assembling means that a request assembles a target in the background.
	assembling bool
}

// newer returns an object, unless it is older than the one that was seen.
func (d *desired) newer(nc *v1alpha1.NodeCatalog) *v1alpha1.NodeCatalog {
	if nc == nil || isOlder(nc, d.object) {
		return d.object
	}
	return nc
}

// specOf returns the spec of an object that may be newer than the one that was seen; that of the last good target if there is none.
func (d *desired) specOf(newest *v1alpha1.NodeCatalog) (spec v1alpha1.NodeCatalogSpec) {
	switch nc := d.newer(newest); {
	case nc != nil:
		return nc.Spec
	case d.target != nil:
		return d.target.Spec
	}
	return spec
}

// generation is the one that was last seen; 0 if none is known.
func (d *desired) generation() int64 {
	switch {
	case d.object != nil:
		return d.object.Generation
	case d.target != nil:
		return d.target.Generation
	}
	return 0
}

// isAssembled reports whether the target is that of the object, or there is none to assemble.
func (d *desired) isAssembled() bool {
	return d.object == nil || d.problem == nil && d.target.Matches(d.object)
}

// isConfirmed reports whether the target is that of a NodeCatalog that is not older than the one that opened the fence.
func (d *desired) isConfirmed() bool {
	return d.object != nil && !isOlder(d.object, d.confirmed) && d.target.Matches(d.object)
}

// cachedCatalogStatus reports, in Puppet's terms, whether the target is the newest that the agent knows of.
func (d *desired) cachedCatalogStatus() string {
	if d.object == nil || d.problem != nil {
		return report.CacheOnFailure
	}
	return report.CacheNotUsed
}

// isOlder reports whether an object is older than one that was seen or written. Long after a write, that
// only happens when a cluster was restored from a backup.
func isOlder(nc, seen *v1alpha1.NodeCatalog) bool {
	if seen == nil || nc.UID != seen.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(nc.ResourceVersion, seen.ResourceVersion)
	return err == nil && order < 0
}

// onNodeCatalog remembers a NodeCatalog, and schedules a change if it is new.
func (a *Agent) onNodeCatalog(ctx context.Context, nc *v1alpha1.NodeCatalog) {
	if isOlder(nc, a.object) && a.Clock.Since(a.published.writtenAt) < cluster.RequestTimeout {
		return
	}
	a.adopt(nc)
	a.object = nc
	followed := a.followMarks(nc)
	if a.managerWaits(nc) {
		a.updateStatus(a.facts(ctx), nil)
	}
	if !a.checkDisabled(ctx) && followed {
		a.updateStatus(nil, nil)
	}
	switch {
	case a.isNew(nc):
	case a.objects.takeRetry(): // the next run at the interval would come too late to show that the node is repaired
		a.applyTarget(ctx)
		return
	default:
		a.publishStatus()
		return
	}
	a.schedule.Change(a.Clock.Now(), schedule.Offset(a.Node, a.Spread))
	if a.schedule.ChangeDue(a.Clock.Now()) {
		a.startChange(ctx)
	}
}

// renewLease renews the Lease. After an interruption, it confirms the state of the NodeCatalog, which opens the fence.
func (a *Agent) renewLease(ctx context.Context, now time.Time) (lasts time.Duration, err error) {
	if lasts, err = a.cluster.RenewLease(ctx, now); err != nil {
		return lasts, err
	}
	if !a.fence.Renewed(now, a.Clock.Now(), lasts) && a.confirming.CompareAndSwap(false, true) {
		request(a, a.results, func(ctx context.Context) func(context.Context) {
			defer a.confirming.Store(false)
			nc, err := a.cluster.NodeCatalog(ctx)
			return func(ctx context.Context) { a.onConfirmed(ctx, nc, err) }
		})
	}
	return lasts, nil
}

// onConfirmed opens the fence, and runs if it kept the agent from acting for resources of Remote types. An error leaves the fence
// closed until the next renewal.
func (a *Agent) onConfirmed(ctx context.Context, nc *v1alpha1.NodeCatalog, err error) {
	if err != nil {
		a.Log.Debug("cannot confirm the state of the NodeCatalog", "error", err)
	}
	if nc == nil {
		return
	}
	a.confirmed = nc
	a.fence.Confirm(a.Clock.Now())
	if a.object == nil || a.object.UID != nc.UID || isOlder(a.object, nc) {
		a.onNodeCatalog(ctx, nc)
		return
	}
	if a.acts() && hasRemote(a.target.Types) {
		a.run(ctx, v1alpha1.TriggerInterval)
	}
}

// startChange starts the scheduled change, unless a run has already applied it.
func (a *Agent) startChange(ctx context.Context) {
	a.schedule.ChangeStarted()
	if a.object != nil && a.isNew(a.object) {
		a.assembleAndApply(ctx)
	}
}

// managerWaits reports whether the manager is waiting for the agent's facts or public key.
func (a *Agent) managerWaits(nc *v1alpha1.NodeCatalog) bool {
	key := a.keys.Public()
	return nc.Status.Facts == nil || key != "" && key != nc.Status.PublicKey
}

// adopt takes over an object that is new to this process.
func (a *Agent) adopt(nc *v1alpha1.NodeCatalog) {
	if a.object != nil && a.object.UID == nc.UID {
		return
	}
	a.problem = nil
	a.published.adopt(nc, a.target)
}

// isNew reports whether the object's generation was neither applied nor rejected.
func (a *Agent) isNew(nc *v1alpha1.NodeCatalog) bool {
	if a.problem != nil || a.failure != nil { // a retry is scheduled
		return nc.Generation != a.published.status.ObservedGeneration
	}
	return !a.target.Matches(nc) || nc.Generation != a.published.status.AppliedGeneration
}

// assembleAndApply assembles the catalogs of the object, unless they are the target already, and runs them.
func (a *Agent) assembleAndApply(ctx context.Context) {
	if a.isAssembled() {
		a.applyTarget(ctx)
		return
	}
	if a.assembling {
		return
	}
	a.assembling = true
	object := a.object
	request(a, a.results, func(ctx context.Context) func(context.Context) {
		t, err := a.catalogs.Assemble(ctx, object)
		if err == nil {
			a.runner.programs.Prepare(ctx, t.Types)
		}
		return func(ctx context.Context) { a.onCatalogs(ctx, object, t, err) }
	})
}

// onCatalogs applies the catalogs of an object, or records why that is impossible. If a newer
// generation was seen meanwhile, it is next: at once, unless its change is scheduled. The older one
// is applied all the same, so that changes that are faster than the catalogs' requests do not starve the host.
func (a *Agent) onCatalogs(ctx context.Context, object *v1alpha1.NodeCatalog, t *catalogs.Target, err error) {
	a.assembling = false
	if a.object == nil {
		return
	}
	latest := a.object.UID == object.UID && a.object.Generation == object.Generation
	if latest || err == nil && a.object.UID == object.UID {
		a.setTarget(object, t, err)
		a.applyTarget(ctx)
	}
	if !latest && !a.schedule.ChangeScheduled() {
		a.assembleAndApply(ctx)
	}
}

func (a *Agent) setTarget(object *v1alpha1.NodeCatalog, t *catalogs.Target, err error) {
	before := a.problem
	if a.problem = problemOf(err); a.problem == nil {
		a.target = t
		return
	}
	a.schedule.Failed(a.Clock.Now())
	if before == nil || *before != *a.problem {
		a.Log.Warn("the catalog can't be applied", "generation", object.Generation, "reason", a.problem.Reason, "error", err)
	}
}

// applyTarget runs the target, unless the object has a problem.
func (a *Agent) applyTarget(ctx context.Context) {
	switch {
	case a.problem == nil:
		a.run(ctx, v1alpha1.TriggerChange)
	case a.problem.Reason != v1alpha1.ReasonApplying: // otherwise a retry comes soon
		a.updateStatus(a.facts(ctx), nil)
	}
}

// problemOf classifies an error of assembling catalogs.
func problemOf(err error) *status.Problem {
	var invalid *catalog.InvalidCatalogError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return &status.Problem{Reason: v1alpha1.ReasonCatalogInvalid, Message: text.Error(err)}
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return &status.Problem{Reason: v1alpha1.ReasonCatalogUnavailable, Message: text.Error(err)}
	}
	return &status.Problem{Reason: v1alpha1.ReasonApplying, Message: text.Error(err)}
}
