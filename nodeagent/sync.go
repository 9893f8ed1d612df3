package nodeagent

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/resource"
)

// see takes note of the NodeCatalog as it is, and acts where that is new.
func (a *Agent) see(ctx context.Context, nc *v1alpha1.NodeCatalog) {
	if older(nc, a.object) && a.Clock.Since(a.wrote) < callLimit {
		return
	}
	a.adopt(nc)
	a.object = nc
	if a.awaited(nc) {
		a.tell(ctx, a.facts(ctx), nil)
	}
	if !a.isNew(nc) {
		a.publish(ctx)
		return
	}
	a.schedule.changed(a.Clock.Now(), placeOf(a.Node, a.Spread))
	if a.schedule.changeDue(a.Clock.Now()) {
		a.begin(ctx)
	}
}

// begin begins what waited for the node's place in a change, unless a run was due before
// and did it.
func (a *Agent) begin(ctx context.Context) {
	a.schedule.begun()
	if a.object != nil && a.isNew(a.object) {
		a.change(ctx)
	}
}

// awaited reports whether the manager waits for what the agent has to tell: for facts to
// compile from, or for the key to seal to.
func (a *Agent) awaited(nc *v1alpha1.NodeCatalog) bool {
	key := a.keys.public()
	return nc.Status.Facts == nil || key != "" && key != nc.Status.PublicKey
}

// older reports whether an object is one that was seen, or written over, before. Long
// after a write that can only be a cluster that was set back to a backup.
func older(nc, seen *v1alpha1.NodeCatalog) bool {
	if seen == nil || nc.UID != seen.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(nc.ResourceVersion, seen.ResourceVersion)
	return err == nil && order < 0
}

// adopt takes the status of an object that this process has not seen before for what
// was told, and tells on top of it what has happened to the host meanwhile.
func (a *Agent) adopt(nc *v1alpha1.NodeCatalog) {
	if a.object != nil && a.object.UID == nc.UID {
		return
	}
	a.problem = nil
	a.status = *nc.Status.DeepCopy()
	if a.last != nil && a.target != nil && a.target.uid == nc.UID {
		in := *a.last
		in.Generation = nc.Generation
		a.status, _ = Status(a.status, in)
	}
}

// isNew reports whether the object says something that was neither applied nor refused.
func (a *Agent) isNew(nc *v1alpha1.NodeCatalog) bool {
	if a.problem != nil || a.failure != nil { // which the schedule tries again
		return nc.Generation != a.status.ObservedGeneration
	}
	return !a.target.is(nc) || nc.Generation != a.status.AppliedGeneration
}

// problemOf says what an error of putting catalogs together means.
func problemOf(err error) *Problem {
	var invalid *catalog.InvalidCatalogError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return &Problem{Reason: v1alpha1.ReasonCatalogInvalid, Message: err.Error()}
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return &Problem{Reason: v1alpha1.ReasonCatalogUnavailable, Message: err.Error()}
	}
	return &Problem{Reason: v1alpha1.ReasonApplying, Message: err.Error()}
}

// settled plans no retry, unless there is something that trying again may solve.
func (a *Agent) settled() {
	if a.problem == nil && a.failure == nil {
		a.schedule.succeeded()
	}
}

// facts asks the host for its facts.
func (a *Agent) facts(ctx context.Context) resource.Facts {
	all, errs := facts.Gather(ctx, a.Host)
	for _, err := range errs {
		a.Log.Debug("a fact is missing", "error", err)
	}
	return all
}
