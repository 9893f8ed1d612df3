package nodeagent

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/cluster"
	"github.com/fettle-dev/fettle/nodeagent/schedule"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// onNodeCatalog remembers a NodeCatalog, and schedules a change if it is new.
func (a *Agent) onNodeCatalog(ctx context.Context, nc *v1alpha1.NodeCatalog) {
	if isOlder(nc, a.object) && a.Clock.Since(a.statusWritten) < cluster.RequestTimeout {
		return
	}
	a.adoptStatus(nc)
	a.object = nc
	followed := a.followMarks(nc)
	if a.managerWaits(nc) {
		a.updateStatus(a.facts(ctx), nil)
	}
	if !a.checkDisabled(ctx) && followed {
		a.updateStatus(nil, nil)
	}
	if !a.isNew(nc) {
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

// isOlder reports whether an object is older than one that was seen or written. Long after a write, that
// only happens when a cluster was restored from a backup.
func isOlder(nc, seen *v1alpha1.NodeCatalog) bool {
	if seen == nil || nc.UID != seen.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(nc.ResourceVersion, seen.ResourceVersion)
	return err == nil && order < 0
}

// adoptStatus starts from the published status of an object that is new to this process, and adds later runs.
func (a *Agent) adoptStatus(nc *v1alpha1.NodeCatalog) {
	if a.object != nil && a.object.UID == nc.UID {
		return
	}
	a.problem = nil
	a.status = *nc.Status.DeepCopy()
	if a.lastInput != nil && a.target != nil && a.target.UID == nc.UID {
		in := *a.lastInput
		in.Generation = nc.Generation
		a.status, _ = status.Next(a.status, in)
	}
}

// isNew reports whether the object's generation was neither applied nor rejected.
func (a *Agent) isNew(nc *v1alpha1.NodeCatalog) bool {
	if a.problem != nil || a.failure != nil { // a retry is scheduled
		return nc.Generation != a.status.ObservedGeneration
	}
	return !a.target.Matches(nc) || nc.Generation != a.status.AppliedGeneration
}

// assembleAndApply assembles the catalogs of the object, unless they are the target already, and runs them.
func (a *Agent) assembleAndApply(ctx context.Context) {
	if a.object == nil || a.problem == nil && a.target.Matches(a.object) {
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
