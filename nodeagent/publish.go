package nodeagent

import (
	"cmp"
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/version"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// updateStatus computes the status and publishes it. run is nil if there was none.
func (a *Agent) updateStatus(is resource.Facts, run *status.Run) {
	in := status.Input{Now: a.Clock.Now(), AgentVersion: version.String(), PublicKey: a.keys.Public(), Facts: is, Problem: cmp.Or(a.problem, a.failure), Held: a.held(), OutdatedTypes: a.runner.programs.Outdated(), Run: run}
	if why := a.whyDisabled(); why != "" {
		in.Problem = &status.Problem{Reason: v1alpha1.ReasonDisabled, Message: why}
	}
	if in.Problem == nil && run != nil && run.Report.Message != "" {
		in.Problem = &status.Problem{Reason: v1alpha1.ReasonRunFailed, Message: run.Report.Message}
	}
	if a.object != nil {
		in.Generation = a.object.Generation
	} else if a.target != nil {
		in.Generation = a.target.Generation
	}
	next, changed := status.Next(a.status, in)
	if a.status = next; changed {
		a.lastInput = &in
	}
	a.publishStatus()
}

// held returns why the manager does not update the node, nil if it does.
func (a *Agent) held() *v1alpha1.Held {
	switch {
	case a.object != nil:
		return a.object.Spec.Held
	case a.target != nil:
		return a.target.Spec.Held
	}
	return nil
}

// publishStatus writes the status if it differs from the object's. It does nothing while a write is in progress, after
// which it is called again. A failed write is retried.
func (a *Agent) publishStatus() {
	if a.writing {
		return
	}
	if a.object == nil || equality.Semantic.DeepEqual(a.object.Status, a.status) {
		if a.problem == nil && a.failure == nil {
			a.schedule.Succeeded()
		}
		return
	}
	a.writing = true
	object, written := a.object, *a.status.DeepCopy()
	request(a, a.written, func(ctx context.Context) func() {
		next, err := a.cluster.WriteStatus(ctx, object, written)
		return func() {
			a.writing = false
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
	a.statusWritten = a.Clock.Now()
	if a.object != nil && a.object.UID == object.UID && !isOlder(object, a.object) {
		a.object = object
	}
	if equality.Semantic.DeepEqual(a.status, written) {
		a.status = *object.Status.DeepCopy() // as the API server encodes it
	}
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
