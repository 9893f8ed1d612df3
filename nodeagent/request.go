package nodeagent

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// ask makes a request beside the agent's goroutine, which then does what the request
// returns. Nothing is done once ctx has ended.
func (a *Agent) ask(ctx context.Context, request func() (answer func(context.Context))) {
	a.beside.Go(func() {
		answer := request()
		if ctx.Err() != nil { // then it is no answer
			return
		}
		select {
		case a.answers <- answer:
		case <-ctx.Done():
		}
	})
}

// change brings the host to what the object newly says, once that is known, or says why not.
func (a *Agent) change(ctx context.Context) {
	if a.object == nil || a.problem == nil && a.target.is(a.object) {
		a.proceed(ctx)
		return
	}
	if a.seeking {
		return
	}
	a.seeking = true
	object := a.object
	a.ask(ctx, func() func(context.Context) {
		t, err := a.library.assemble(ctx, object)
		return func(ctx context.Context) { a.found(ctx, object, t, err) }
	})
}

// found makes what an object says the target, or notes why it can't be. Where another one
// was seen meanwhile that one is next: at once, unless it waits for its place. What was had
// is applied all the same, so that changes that come faster than catalogs do are not all lost.
func (a *Agent) found(ctx context.Context, object *v1alpha1.NodeCatalog, t *target, err error) {
	a.seeking = false
	if a.object == nil {
		return
	}
	latest := a.object.UID == object.UID && a.object.Generation == object.Generation
	if latest || err == nil && a.object.UID == object.UID {
		a.settle(object, t, err)
		a.proceed(ctx)
	}
	if !latest && a.schedule.change.IsZero() {
		a.change(ctx)
	}
}

func (a *Agent) settle(object *v1alpha1.NodeCatalog, t *target, err error) {
	before := a.problem
	if a.problem = problemOf(err); a.problem == nil {
		a.target = t
		return
	}
	a.schedule.failed(a.Clock.Now())
	if before == nil || *before != *a.problem {
		a.Log.Warn("the catalog can't be applied", "generation", object.Generation, "reason", a.problem.Reason, "error", err)
	}
}

// proceed runs the target, if that is what the host is to be.
func (a *Agent) proceed(ctx context.Context) {
	switch {
	case a.problem == nil:
		a.run(ctx, v1alpha1.TriggerChange)
	case a.problem.Reason != v1alpha1.ReasonApplying: // else it is tried again before long
		a.tell(ctx, a.facts(ctx), nil)
	}
}

// publish writes the status, if the object has another and nothing is being written: what
// is new by then is written next. What fails is tried again.
func (a *Agent) publish(ctx context.Context) {
	if a.telling {
		return
	}
	if a.object == nil || equality.Semantic.DeepEqual(a.object.Status, a.status) {
		a.settled()
		return
	}
	a.telling = true
	object, status := a.object, *a.status.DeepCopy()
	a.ask(ctx, func() func(context.Context) {
		written, err := a.cluster.writeStatus(ctx, object, status)
		return func(ctx context.Context) {
			a.telling = false
			if err != nil {
				a.untold(ctx, object, err)
				return
			}
			a.told(ctx, written, status)
		}
	})
}

// told takes note of a status that was written, and publishes what is new since.
func (a *Agent) told(ctx context.Context, written *v1alpha1.NodeCatalog, status v1alpha1.NodeCatalogStatus) {
	a.wrote = a.Clock.Now()
	if a.object != nil && a.object.UID == written.UID && !older(written, a.object) {
		a.object = written
	}
	if equality.Semantic.DeepEqual(a.status, status) {
		a.status = *written.Status.DeepCopy() // in the words of the API server
	}
	a.publish(ctx)
}

// untold plans to try again to write a status.
func (a *Agent) untold(ctx context.Context, object *v1alpha1.NodeCatalog, err error) {
	if apierrors.IsNotFound(err) {
		if a.object != nil && a.object.UID == object.UID {
			a.object = nil // it will be seen again if it is made again
		}
		a.publish(ctx)
		return
	}
	level := slog.LevelDebug
	if a.schedule.failures == 0 {
		level = slog.LevelWarn
	}
	a.Log.Log(ctx, level, "cannot write the status, it will be tried again", "error", err)
	a.schedule.failed(a.Clock.Now())
}
