package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// A departure is a resource that is being deleted and has our finalizer.
type departure struct {
	resource v1alpha1.Resource
	ref      v1alpha1.ResourceRef
	awaited  []v1alpha1.NodeSample // nodes that may have something of it left
}

// departures are those of resources that nodes are not told of any more.
func (r *Fleet) departures(ctx context.Context, leaving []v1alpha1.Resource, nodes nodeCatalogs) ([]departure, error) {
	var all []departure
	for _, o := range leaving {
		ref := v1alpha1.RefOf(o)
		if _, told := r.compiled.resources[ref]; controllerutil.ContainsFinalizer(o, v1alpha1.FinalizerCleanup) && !told {
			all = append(all, departure{resource: o, ref: ref})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	known, err := r.nodeLabels(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].awaited = r.awaited(all[i], known, nodes)
	}
	return all, nil
}

func (r *Fleet) nodeLabels(ctx context.Context) (map[string]labels.Set, error) {
	list := metadataList("Node")
	if err := r.Client.List(ctx, list, shared()); err != nil {
		return nil, fmt.Errorf("cannot list nodes: %w", err)
	}
	all := make(map[string]labels.Set, len(list.Items))
	for i := range list.Items {
		all[list.Items[i].Name] = list.Items[i].Labels
	}
	return all, nil
}

// awaited are the nodes that a deletion waits for. One that is gone is not among them, nor
// one that came when the resource was already leaving.
func (r *Fleet) awaited(d departure, known map[string]labels.Set, nodes nodeCatalogs) []v1alpha1.NodeSample {
	if d.resource.GetAnnotations()[v1alpha1.AnnotationAbandonCleanup] == "true" {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.resource.GetTargeting().NodeSelector)
	if err != nil {
		selector = labels.Nothing() // it never had a node
	}
	now := r.Clock.Now()
	var all []v1alpha1.NodeSample
	for name, want := range r.compiled.result.Nodes {
		nc := nodes[name]
		if nc == nil || !ownedBy(nc, r.compiled.nodes[name]) || nc.CreationTimestamp.After(d.resource.GetDeletionTimestamp().Time) {
			continue
		}
		is := remnant(d.ref, nc.Status, sight{
			progress: r.rollout.observe(name, want.Digest, r.published.applied(name, nc)),
			selected: selector.Matches(known[name]),
			held:     r.deselection.stillHas(nc, d.ref),
			silent:   r.leases.silent(name, now),
		})
		if is.ResourceState != "" {
			all = append(all, sample(name, is))
		}
	}
	slices.SortFunc(all, compareSamples)
	return all
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
		if len(d.awaited) == 0 {
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
