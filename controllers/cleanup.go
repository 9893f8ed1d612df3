package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A departure is a resource that is being deleted and has our finalizer.
type departure struct {
	resource v1alpha1.Resource
	ref      v1alpha1.ResourceRef
	awaited
}

// awaited are the nodes that a deletion waits for, as they may have something left.
type awaited struct {
	census
	n       int
	samples []v1alpha1.NodeSample // the first of them, failures first
}

func (a *awaited) add(s v1alpha1.NodeSample) {
	if a.by == nil {
		a.by = map[v1alpha1.ResourceState]int32{}
	}
	a.by[s.State]++
	a.n++
	if a.samples = append(a.samples, s); len(a.samples) > 4*maxSamples {
		a.cut()
	}
}

// cut keeps as many as a status has room for.
func (a *awaited) cut() {
	slices.SortFunc(a.samples, compareSamples)
	a.samples = a.samples[:min(len(a.samples), maxSamples)]
}

// departures are those of resources that nodes are not told of any more.
func (r *Fleet) departures(leaving []v1alpha1.Resource, nodes nodeCatalogs) []departure {
	var all []departure
	for _, o := range leaving {
		ref := v1alpha1.RefOf(o)
		if _, told := r.compiled.resources[ref]; controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) && !told {
			all = append(all, departure{resource: o, ref: ref})
		}
	}
	if len(all) == 0 {
		return nil
	}
	open := r.unsettled(nodes)
	for i := range all {
		all[i].awaited = r.awaits(all[i], open)
	}
	return all
}

// An openNode is one that may have something left of what is gone.
type openNode struct {
	*v1alpha1.NodeCatalog
	sight
}

// unsettled are the nodes that have not applied all, or report trouble: of a fleet that is
// done, none. One that is gone is not among them.
func (r *Fleet) unsettled(nodes nodeCatalogs) []openNode {
	var all []openNode
	now := r.Clock.Now()
	for name, want := range r.compiled.result.Nodes {
		nc := nodes[name]
		if nc == nil || !ownedBy(nc, r.compiled.nodes[name]) {
			continue
		}
		p := r.rollout.observe(name, want.Digest, r.published.applied(name, nc))
		if p.all || len(p.some) > 0 || len(nc.Status.Resources) > 0 || nc.Status.Omitted > 0 {
			all = append(all, openNode{nc, sight{progress: p, silent: r.leases.silent(name, now)}})
		}
	}
	return all
}

// awaits finds the nodes that a deletion waits for.
func (r *Fleet) awaits(d departure, open []openNode) (found awaited) {
	if d.resource.GetAnnotations()[v1alpha1.AnnotationAbandonCleanup] == "true" {
		return found
	}
	for _, n := range open {
		var has bool
		n.had, has = r.had(n.NodeCatalog, d.resource)
		n.held = has && r.deselection.holds(n.Name)
		if is := remnant(d.ref, n.Status, n.sight); is.ResourceState != "" {
			found.add(sample(n.Name, is))
		}
	}
	found.cut()
	return found
}

// conflictAgain is when to look again after someone else changed a resource at the
// same time. A cache that has heard of it brings a pass of its own, as a rule.
const conflictAgain = time.Second

// finalize puts our finalizer on resources whose deletion leaves nodes something to do, and
// takes it off others and off those that are done. Nothing else depends on it: hosts are safe
// without it, it only has people wait.
func (r *Fleet) finalize(ctx context.Context, live []v1alpha1.Resource, gone []departure) (time.Duration, error) {
	var changes []v1alpha1.Resource
	for _, o := range live {
		if o.GetTargeting().DeletionPolicy.Acts() != controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) {
			changes = append(changes, o)
		}
	}
	for _, d := range gone {
		if d.n == 0 {
			changes = append(changes, d.resource)
		}
	}
	errs := each(len(changes), func(i int) error { return r.toggleFinalizer(ctx, changes[i]) })
	var again later
	for i, err := range errs {
		if apierrors.IsConflict(err) {
			errs[i] = nil
			again.in(conflictAgain)
		}
	}
	return again.wait, errors.Join(errs...)
}

// toggleFinalizer takes our finalizer off where it is on, and puts it on where it is not. The
// API server refuses it where the resource is another than the one that was looked at, so that
// finalizers of others are never lost.
func (r *Fleet) toggleFinalizer(ctx context.Context, o v1alpha1.Resource) error {
	next, ok := o.DeepCopyObject().(v1alpha1.Resource)
	if !ok {
		return fmt.Errorf("cannot change finalizers of %s: its copy is a %T", v1alpha1.RefOf(o), o)
	}
	if !controllerutil.RemoveFinalizer(next, v1alpha1.FinalizerCleanup) {
		controllerutil.AddFinalizer(next, v1alpha1.FinalizerCleanup)
	}
	err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot change finalizers of %s: %w", v1alpha1.RefOf(o), err)
	}
	return nil
}
