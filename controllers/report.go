package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler"
)

// report writes the status of every resource that has changed, and returns when those
// are due that were written too lately. Those that are being deleted it lets go when their
// nodes are done.
func (r *Fleet) report(ctx context.Context, nodes nodeCatalogs) (time.Duration, error) {
	live, leaving, err := r.readResources(ctx)
	if err != nil {
		return 0, err
	}
	now := metav1.NewTime(r.Clock.Now())
	r.stand(nodes, now.Time)
	gone := r.departures(leaving, nodes)
	wait, unsure := r.abandoned(ctx, gone)
	again := later{wait}
	wait, failed := r.finalize(ctx, live, gone) // first: what it looked at must not have changed
	again.in(wait)
	due, wait := r.written.due(now.Time, slices.Concat(r.statuses(live, now), departing(gone, now)))
	again.in(wait)
	errs := each(len(due), func(i int) error { return r.writeStatus(ctx, due[i], now.Time) })
	return again.wait, errors.Join(append(errs, failed, unsure)...)
}

// statuses are those of resources that nodes are to have that are not as they should be.
func (r *Fleet) statuses(live []v1alpha1.Resource, now metav1.Time) []statusChange {
	all := r.standings.aggregation()
	var changes []statusChange
	for _, o := range live {
		ref := v1alpha1.RefOf(o)
		is, known := r.compiled.resources[ref]
		if !known {
			continue // it came after the last compilation, and has caused the next
		}
		found := all.of(ref, r.compiled.result.Selected[ref])
		changes = appendChange(changes, o, outcome{generation: is.generation, gathering: found, problems: r.problems(ref)}, now)
	}
	return changes
}

// problems are what keeps a resource from its nodes, or its nodes from losing it.
func (r *Fleet) problems(ref v1alpha1.ResourceRef) []compiler.Problem {
	found := r.compiled.problems[ref]
	if held, ok := r.deselection.problems[ref]; ok {
		found = append(slices.Clone(found), held)
	}
	return found
}

// departing are the statuses of resources whose deletion waits.
func departing(gone []departure, now metav1.Time) []statusChange {
	var changes []statusChange
	for _, d := range gone {
		if d.n > 0 {
			changes = appendChange(changes, d.resource, d.outcome(), now)
		}
	}
	return changes
}

func appendChange(changes []statusChange, o v1alpha1.Resource, is outcome, now metav1.Time) []statusChange {
	next := newStatus(is, *o.GetStatus(), now)
	if apiequality.Semantic.DeepEqual(*o.GetStatus(), next) {
		return changes
	}
	return append(changes, statusChange{o, v1alpha1.RefOf(o), next})
}

// stand brings the standings up to date with what nodes report.
func (r *Fleet) stand(nodes nodeCatalogs, now time.Time) {
	r.standings.keep(r.compiled.result.Nodes)
	for name, want := range r.compiled.result.Nodes {
		nc := nodes[name]
		if nc != nil && !ownedBy(nc, r.compiled.nodes[name]) {
			nc = nil // it is of a Node of the same name that is gone
		}
		p := r.rollout.observe(name, want.Digest, r.published.applied(name, nc))
		p.held, p.refused = r.deselection.holds(name), r.refusals.why(name)
		r.standings.update(name, want, nc, p, r.leases.silent(name, now))
	}
}

// A statusChange is a status to write.
type statusChange struct {
	resource v1alpha1.Resource // with the status that it has
	ref      v1alpha1.ResourceRef
	status   v1alpha1.ResourceStatus
}

func (r *Fleet) writeStatus(ctx context.Context, c statusChange, now time.Time) error {
	patch, err := statusPatch(c.status)
	if err != nil {
		return fmt.Errorf("cannot encode status of %s: %w", c.ref, err)
	}
	o, ok := c.resource.DeepCopyObject().(v1alpha1.Resource)
	if !ok {
		return fmt.Errorf("cannot write status of %s: its copy is a %T", c.ref, c.resource)
	}
	if err := r.Client.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil // its status is of no interest any more
		}
		return fmt.Errorf("cannot write status of %s: %w", c.ref, err)
	}
	r.written.wrote(c.ref, now)
	emit(r.Recorder, c.resource, resourceEvents(*c.resource.GetStatus(), c.status))
	return nil
}

// statusPatch replaces a whole status. A list that is empty has to be said, or a merge
// patch would keep the old one.
func statusPatch(s v1alpha1.ResourceStatus) ([]byte, error) {
	return json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": s.ObservedGeneration,
		"appliedGeneration":  s.AppliedGeneration,
		"nodes":              s.Nodes,
		"samples":            s.Samples,
		"conditions":         s.Conditions,
	}})
}

// writeGap is the least time between two writes of one resource's status: a wave of
// nodes that report becomes a few writes.
const writeGap = 5 * time.Second

// A debounce knows when statuses were written. Safe for concurrent use.
type debounce struct {
	mu   sync.Mutex
	last map[v1alpha1.ResourceRef]time.Time
}

func (d *debounce) wrote(ref v1alpha1.ResourceRef, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last = map[v1alpha1.ResourceRef]time.Time{}
	}
	d.last[ref] = now
}

// due splits changes into those to write now and the wait for the first of the others.
func (d *debounce) due(now time.Time, changes []statusChange) ([]statusChange, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ref, last := range d.last {
		if now.Sub(last) >= writeGap {
			delete(d.last, ref)
		}
	}
	var due []statusChange
	var wait later
	for _, c := range changes {
		if last, ok := d.last[c.ref]; ok {
			wait.in(last.Add(writeGap).Sub(now))
		} else {
			due = append(due, c)
		}
	}
	return due, wait.wait
}
