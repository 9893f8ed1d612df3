package nodeagent

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/version"
	"github.com/fettle-dev/fettle/nodeagent/catalogs"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// published is the status of the NodeCatalog: as it is to be published, and whether it is being written.
type published struct {
	status    v1alpha1.NodeCatalogStatus
	input     *status.Input // that last changed it; nil before
	writing   bool          // a request writes it; at most one does
	writtenAt time.Time     // when it was last written
}

// update adds news to the status.
func (p *published) update(in status.Input) {
	next, changed := status.Next(p.status, in)
	if p.status = next; changed {
		p.input = &in
	}
}

// adopt starts from the status of an object that is new to this process, and adds the runs of its target since.
func (p *published) adopt(nc *v1alpha1.NodeCatalog, target *catalogs.Target) {
	p.status = *nc.Status.DeepCopy()
	if p.input != nil && target != nil && target.UID == nc.UID {
		in := *p.input
		in.Generation = nc.Generation
		p.status, _ = status.Next(p.status, in)
	}
}

// followMarks makes a generation the applied one, if only marks differ from the one that is.
func (p *published) followMarks(was, next *catalogs.Target) {
	if p.status.AppliedGeneration == was.Generation && p.status.AppliedDigest == next.Digest {
		p.status.AppliedGeneration = next.Generation
	}
}

// isWritten reports whether an object has the status.
func (p *published) isWritten(nc *v1alpha1.NodeCatalog) bool {
	return equality.Semantic.DeepEqual(nc.Status, p.status)
}

// wrote records that a status was written to an object.
func (p *published) wrote(now time.Time, written v1alpha1.NodeCatalogStatus, to *v1alpha1.NodeCatalog) {
	p.writtenAt = now
	if equality.Semantic.DeepEqual(p.status, written) {
		p.status = *to.Status.DeepCopy() // as the API server encodes it
	}
}

// updateStatus computes the status and publishes it. run is nil if there was none.
func (a *Agent) updateStatus(is resource.Facts, run *status.Run) {
	in := status.Input{
		Now: a.Clock.Now(), Generation: a.generation(), AgentVersion: version.String(), PublicKey: a.keys.Public(), Facts: is,
		Problem: cmp.Or(a.problem, a.failure), Held: a.specOf(nil).Held, OutdatedTypes: a.runner.programs.Outdated(), Run: run,
	}
	if why := a.whyDisabled(); why != "" {
		in.Problem = &status.Problem{Reason: v1alpha1.ReasonDisabled, Message: why}
	}
	if in.Problem == nil && run != nil && run.Report.Message != "" {
		in.Problem = &status.Problem{Reason: v1alpha1.ReasonRunFailed, Message: run.Report.Message}
	}
	a.published.update(in)
	a.publishStatus()
}

// publishStatus writes the status if it differs from the object's. It does nothing while a write is in progress, after
// which it is called again. A failed write is retried.
func (a *Agent) publishStatus() {
	if a.published.writing {
		return
	}
	if a.object == nil || a.published.isWritten(a.object) {
		if a.problem == nil && a.failure == nil {
			a.schedule.Succeeded()
		}
		return
	}
	a.published.writing = true
	object, written := a.object, *a.published.status.DeepCopy()
	request(a, a.written, func(ctx context.Context) func() {
		next, err := a.cluster.WriteStatus(ctx, object, written)
		return func() {
			a.published.writing = false
			if err != nil {
				a.onStatusError(object, err)
				return
			}
			a.onStatusWritten(next, written)
		}
	})
}

// onStatusWritten remembers the written object, and publishes what has changed since.
func (a *Agent) onStatusWritten(object *v1alpha1.NodeCatalog, written v1alpha1.NodeCatalogStatus) {
	if a.object != nil && a.object.UID == object.UID && !isOlder(object, a.object) {
		a.object = object
	}
	a.published.wrote(a.Clock.Now(), written, object)
	a.publishStatus()
}

// onStatusError schedules a retry.
func (a *Agent) onStatusError(object *v1alpha1.NodeCatalog, err error) {
	if apierrors.IsNotFound(err) {
		if a.object != nil && a.object.UID == object.UID {
			a.object = nil // the watch reports it if it is created again
		}
		a.publishStatus()
		return
	}
	level := slog.LevelWarn
	if a.schedule.Failing() {
		level = slog.LevelDebug
	}
	a.Log.Log(context.Background(), level, "cannot write the status, retrying", "error", err)
	a.schedule.Failed(a.Clock.Now())
}
