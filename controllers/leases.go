package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// DefaultLeaseDuration is how long a node's agent may be silent before it counts as
// unknown. Agents renew their Leases when two thirds of it are over.
const DefaultLeaseDuration = time.Minute

// leases knows when the agent of each node was last heard of. It goes by the manager's
// clock: a node's own may be wrong. The zero value knows none. Safe for concurrent use.
type leases struct {
	mu    sync.Mutex
	known map[string]heard // by node
	told  map[string]bool  // the nodes of which somebody was told that they are silent
	// lost is when the API server could not be heard either; nil if it always could.
	lost func() outage
}

// heard is when a node was last heard of.
type heard struct {
	renewed time.Time     // as the agent says, to tell one renewal from the next
	at      time.Time     // by our clock
	lasts   time.Duration // as its Lease says
	owner   types.UID     // the Node's
}

// excuse is how many durations a node is given at most while or because the API server
// could not be heard.
const excuse = 10

// deadline is from when on a node is silent. Who could not be heard, or could not
// renew, for want of an API server has a whole duration from when it was back; who was
// silent before stays so.
func (h heard) deadline(o outage) time.Time {
	due := h.at.Add(h.lasts)
	if due.Before(o.since) {
		return due
	}
	if back := o.until.Add(h.lasts); back.After(due) {
		due = back
	}
	if last := h.at.Add(excuse * h.lasts); last.Before(due) {
		return last
	}
	return due
}

// silent reports whether that was too long ago.
func (h heard) silent(now time.Time, o outage) bool { return !now.Before(h.deadline(o)) }

// first is when a node was heard that a manager knows nothing of yet. It may have been
// the API server that was away: only one that was silent for very long is so at once.
func first(now, renewed time.Time, lasts time.Duration) time.Time {
	if now.Sub(renewed) > excuse*lasts {
		return renewed
	}
	return now
}

// silent reports whether nothing was heard of a node's agent for as long as its Lease
// lasts. A node without a Lease, which is about to get one, is not silent.
func (l *leases) silent(node string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.known[node]
	return ok && h.silent(now, l.outage())
}

// next is how long it takes until a node becomes silent if none is heard before; 0 if
// none can.
func (l *leases) next(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var next later
	o := l.outage()
	for _, h := range l.known {
		next.in(h.deadline(o).Sub(now))
	}
	return next.wait
}

// turned are the nodes that became silent, and those that were heard of again, since
// somebody was told, sorted.
func (l *leases) turned(now time.Time) (fell, back []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.outage()
	for node, h := range l.known {
		switch is := h.silent(now, o); {
		case is && !l.told[node]:
			fell = append(fell, node)
		case !is && l.told[node]:
			back = append(back, node)
		}
	}
	slices.Sort(fell)
	slices.Sort(back)
	return fell, back
}

// tell notes that somebody is told which nodes have turned.
func (l *leases) tell(fell, back []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = map[string]bool{}
	}
	for _, node := range fell {
		l.told[node] = true
	}
	for _, node := range back {
		delete(l.told, node)
	}
}

func (l *leases) outage() outage {
	if l.lost == nil {
		return outage{}
	}
	return l.lost()
}

// note takes a Lease as it is, and reports whether a node that was silent is heard again.
func (l *leases) note(lease *coordinationv1.Lease, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, known := l.known[lease.Name]
	is := heard{renewed: lease.CreationTimestamp.Time, at: was.at, lasts: DefaultLeaseDuration}
	if t := lease.Spec.RenewTime; t != nil {
		is.renewed = t.Time
	}
	if s := lease.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		is.lasts = time.Duration(*s) * time.Second
	}
	for _, o := range lease.OwnerReferences {
		is.owner = o.UID
	}
	switch {
	case !known:
		is.at = first(now, is.renewed, is.lasts)
	case !is.renewed.Equal(was.renewed):
		is.at = now
	}
	if l.known == nil {
		l.known = map[string]heard{}
	}
	l.known[lease.Name] = is
	o := l.outage()
	return known && was.silent(now, o) && !is.silent(now, o)
}

func (l *leases) forget(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, node)
	delete(l.told, node)
}

// needed are the nodes that have no Lease, and those whose Lease lasts for another
// time. One that belongs to a Node of before is the garbage collector's.
func (l *leases) needed(nodes map[string]types.UID, lasts time.Duration) (missing, other []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		switch h, ok := l.known[node]; {
		case !ok:
			missing = append(missing, node)
		case h.lasts != lasts && h.owner == nodes[node]:
			other = append(other, node)
		}
	}
	return missing, other
}

// leaseEvents keeps what is known of Leases, and asks for a pass where that says something
// new of a node: a renewal does not.
func (r *Fleet) leaseEvents() handler.EventHandler {
	note := func(o client.Object, q queue) {
		if lease, ok := o.(*coordinationv1.Lease); ok && r.leases.note(lease, r.Clock.Now()) {
			passSoon(q)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { note(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { note(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.leases.forget(e.Object.GetName())
			passSoon(q)
		},
	}
}

// leasesAtOnce is how many Leases one pass makes: those of a large fleet must not keep
// a change waiting.
const leasesAtOnce = 10 * writers

// keepLeases gives every node its Lease, and returns when it should look again.
func (r *Fleet) keepLeases(ctx context.Context) (time.Duration, error) {
	lasts := r.LeaseDuration
	if lasts == 0 {
		lasts = DefaultLeaseDuration
	}
	missing, other := r.leases.needed(r.compiled.nodes, lasts)
	all := slices.Concat(missing, other)
	now := all[:min(len(all), leasesAtOnce)]
	errs := each(len(now), func(i int) error {
		if i < len(missing) {
			return r.createLease(ctx, now[i], lasts)
		}
		return r.prolongLease(ctx, now[i], lasts)
	})
	r.logSilence(ctx)
	var again later
	again.in(r.leases.next(r.Clock.Now()))
	if len(now) < len(all) {
		again.in(settle)
	}
	again.in(r.callAgain(ctx))
	return again.wait, errors.Join(errs...)
}

func (r *Fleet) logSilence(ctx context.Context) {
	const names = 10
	fell, back := r.leases.turned(r.Clock.Now())
	r.leases.tell(fell, back)
	if len(fell)+len(back) > 0 {
		ctrl.LoggerFrom(ctx).Info("agents fell silent, or were heard again",
			"silent", len(fell), "silentNodes", fell[:min(len(fell), names)], "again", len(back), "againNodes", back[:min(len(back), names)])
	}
}

func (r *Fleet) createLease(ctx context.Context, node string, lasts time.Duration) error {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       v1alpha1.AgentNamespace,
			Name:            node,
			OwnerReferences: nodeAsOwner(node, r.compiled.nodes[node]),
		},
		Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(lasts / time.Second))},
	}
	err := r.Client.Create(ctx, lease)
	if client.IgnoreAlreadyExists(err) != nil { // the cache is behind, and will cause another pass
		return fmt.Errorf("cannot create Lease %s of namespace %s: %w", node, v1alpha1.AgentNamespace, err)
	}
	if err == nil {
		r.leases.note(lease, r.Clock.Now())
	}
	return nil
}

func (r *Fleet) prolongLease(ctx context.Context, node string, lasts time.Duration) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"leaseDurationSeconds": int32(lasts / time.Second)}})
	if err != nil {
		return fmt.Errorf("cannot encode Lease %s: %w", node, err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: node}}
	if err := r.Client.Patch(ctx, lease, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot patch Lease %s of namespace %s: %w", node, v1alpha1.AgentNamespace, err)
	}
	return nil
}

// onlyRenewal drops what no pass reads of a Lease.
func onlyRenewal(o any) (any, error) {
	if lease, ok := o.(*coordinationv1.Lease); ok {
		lease.ObjectMeta = metav1.ObjectMeta{
			Namespace: lease.Namespace, Name: lease.Name, UID: lease.UID, ResourceVersion: lease.ResourceVersion,
			CreationTimestamp: lease.CreationTimestamp, OwnerReferences: lease.OwnerReferences,
		}
		lease.Spec = coordinationv1.LeaseSpec{RenewTime: lease.Spec.RenewTime, LeaseDurationSeconds: lease.Spec.LeaseDurationSeconds}
	}
	return o, nil
}
