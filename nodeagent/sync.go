package nodeagent

import (
	"context"
	"errors"
	"log/slog"

	"k8s.io/apimachinery/pkg/api/equality"
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

// resolve makes what the object says the target, or notes why it can't be.
func (a *Agent) resolve(ctx context.Context) {
	if a.object == nil || a.problem == nil && a.target.is(a.object) {
		return
	}
	before := a.problem
	t, err := a.library.assemble(ctx, a.object)
	if a.problem = problemOf(err); a.problem == nil {
		a.target = t
		return
	}
	a.schedule.failed(a.Clock.Now())
	if before == nil || *before != *a.problem {
		a.Log.Warn("the catalog can't be applied", "generation", a.object.Generation, "reason", a.problem.Reason, "error", err)
	}
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

// publish writes the status, if the object has another. What fails is tried again.
func (a *Agent) publish(ctx context.Context) {
	if a.object == nil || equality.Semantic.DeepEqual(a.object.Status, a.status) {
		a.settled()
		return
	}
	written, err := a.cluster.writeStatus(ctx, a.object, a.status)
	switch {
	case err == nil:
		a.object, a.wrote = written, a.Clock.Now()
		a.status = *written.Status.DeepCopy() // in the words of the API server
		a.settled()
	case ctx.Err() != nil:
	case apierrors.IsNotFound(err):
		a.object = nil // it will be seen again if it is made again
		a.settled()
	default:
		level := slog.LevelDebug
		if a.schedule.failures == 0 {
			level = slog.LevelWarn
		}
		a.Log.Log(ctx, level, "cannot write the status, it will be tried again", "error", err)
		a.schedule.failed(a.Clock.Now())
	}
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
