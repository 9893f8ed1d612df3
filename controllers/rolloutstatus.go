package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/conditions"
	"github.com/fettle-dev/fettle/internal/fleet/limits"
	"github.com/fettle-dev/fettle/internal/fleet/rollout/policies"
)

// rolloutPeriod is the minimum time between two writes of the status of a RolloutPolicy.
const rolloutPeriod = 5 * time.Second

// rollouts writes the statuses of RolloutPolicies, which say what nodes get. What it remembers only saves time: a manager that starts
// compares its caches with the API server, and waits for nodes to be well for the whole time again.
type rollouts struct {
	client   client.Client
	live     client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	metrics  *Metrics
	store    *revisionStore
	planner  rolloutPlanner

	written map[string]writtenPolicy // by name
	current bool                     // the caches have all that other managers wrote to nodes
}

// ours reports whether this manager was the last to write the policy.
func (r *rollouts) ours(p *v1alpha1.RolloutPolicy) bool {
	w, known := r.written[p.Name]
	return known && w.UID == p.UID && w.ResourceVersion == p.ResourceVersion
}

// A writtenPolicy is a RolloutPolicy as it was last written.
type writtenPolicy struct {
	*v1alpha1.RolloutPolicy
	before map[string]bool // the resourceVersions that it had before, which the cache may still have
	at     time.Time
}

// advance brings the statuses of all policies up to date, and returns which revision each node is to have, and when to come back. A node
// gets the target only once the status of its policy says so in the cluster: what another manager does at the same time fails there. held has
// the nodes whose updates are held.
func (r *rollouts) advance(ctx context.Context, sc *scope, specs map[string]spec, compiled *compilation, held map[string]*v1alpha1.Held) (assignments, time.Duration, error) {
	if len(sc.policies) == 0 || compiled == nil || compiled.newest.Name == "" {
		r.written, r.current = nil, r.current && compiled != nil
		r.metrics.setRollouts(nil)
		return assignments{}, 0, nil
	}
	current, err := r.catchUp(ctx, sc, specs)
	updated, wait := slices.Clone(sc.policies), limits.Wait(0)
	var plans []policyPlan
	if current {
		plans = r.planner.plan(sc, specs, compiled, held, r.clock.Now())
		r.metrics.setRollouts(plans)
		wait, err = r.writeAll(ctx, sc, compiled, plans)
	} else {
		wait.Add(limits.Debounce)
	}
	for i := range plans {
		updated[i] = plans[i].policy
	}
	a := assigner{scope: sc, specs: specs, compiled: compiled, admits: r.ours, waits: newWaits(sc, compiled), now: r.clock.Now()}
	next := a.assign(updated)
	for _, p := range plans {
		next.conditions[p.policy.Name] = p.status.Conditions // resources do not wait for the next write to say what holds them up
	}
	return next, time.Duration(wait), err
}

// writeAll carries out plans, and returns when the next ones are due.
func (r *rollouts) writeAll(ctx context.Context, sc *scope, compiled *compilation, plans []policyPlan) (wait limits.Wait, err error) {
	errs := make([]error, len(plans))
	for i := range plans {
		p := &plans[i]
		wait.Add(p.wake)
		if errs[i] = r.storeNewest(ctx, sc, compiled, p); errs[i] != nil {
			continue
		}
		after, err := r.write(ctx, p)
		wait.Add(after)
		errs[i] = err
	}
	return wait, errors.Join(errs...)
}

// newest returns the policies with the newest known status: the cache may be behind a write.
func (r *rollouts) newest(cached []*v1alpha1.RolloutPolicy) []*v1alpha1.RolloutPolicy {
	all := make([]*v1alpha1.RolloutPolicy, len(cached))
	for i, p := range cached {
		all[i] = p
		w, known := r.written[p.Name]
		if known && w.UID == p.UID && w.before[p.ResourceVersion] {
			newer := *p
			newer.ResourceVersion, newer.Status = w.ResourceVersion, w.Status
			all[i] = &newer
		}
	}
	return all
}

// due reports whether the status of a plan is to be written, and how long that has to wait. One that nodes try again for is, as the
// annotations of these are removed after that.
func (r *rollouts) due(p *policyPlan) (wait time.Duration, due bool) {
	if apiequality.Semantic.DeepEqual(p.policy.Status, p.status) {
		return 0, len(p.retried) > 0 || len(p.status.Admitting) > 0 && !r.ours(p.policy)
	}
	return max(r.written[p.policy.Name].at.Add(rolloutPeriod).Sub(r.clock.Now()), 0), true
}

// storeNewest stores the newest revision if a policy is about to name it, or names it though it was deleted.
func (r *rollouts) storeNewest(ctx context.Context, sc *scope, compiled *compilation, p *policyPlan) error {
	if newest := compiled.newest.Name; p.status.Stable != newest && p.status.Target != newest {
		return nil
	}
	return r.store.cut(ctx, sc, compiled.newest)
}

// write writes the status of a plan if it differs, and returns when that is due if it is too early. The plan then has the policy as it is.
// A status of another manager that admits nodes is written as it is, which changes nothing, and fails if the policy has changed.
func (r *rollouts) write(ctx context.Context, p *policyPlan) (time.Duration, error) {
	if wait, due := r.due(p); !due || wait > 0 {
		return wait, nil
	}
	next := p.policy.DeepCopy()
	next.Status = p.status
	err := r.client.Status().Update(ctx, next)
	switch {
	case apierrors.IsConflict(err):
		// Somebody else has written it. If that was another manager, it may have moved nodes that the caches do not show yet.
		r.current = false
		delete(r.written, next.Name)
		ctrl.LoggerFrom(ctx).Info("the status of a RolloutPolicy has changed meanwhile", "policy", next.Name)
		return conflictRetry, nil
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, wrap(err, "cannot write the status of RolloutPolicy "+next.Name)
	}
	r.recordWrite(p.policy, next)
	r.acknowledge(ctx, p.retried)
	conditions.Record(r.recorder, withKind(next), transitions(p.policy.Status, p.status)...)
	p.policy = next
	return 0, nil
}

// acknowledge removes the annotations of nodes that try again. If that fails, they try once more.
func (r *rollouts) acknowledge(ctx context.Context, nodes []string) {
	for _, name := range nodes {
		nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
		patch := mergePatch{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRetryRollout: nil}}}
		if err := r.client.Patch(ctx, nc, patch); client.IgnoreNotFound(err) != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot remove an annotation", "nodeCatalog", name, "annotation", v1alpha1.AnnotationRetryRollout)
		}
	}
}

func (r *rollouts) recordWrite(before, now *v1alpha1.RolloutPolicy) {
	if r.written == nil {
		r.written = map[string]writtenPolicy{}
	}
	w := writtenPolicy{now, map[string]bool{before.ResourceVersion: true}, r.clock.Now()}
	if was, known := r.written[now.Name]; known && was.UID == now.UID && was.ResourceVersion == before.ResourceVersion {
		for version := range was.before {
			w.before[version] = true
		}
	}
	r.written[now.Name] = w
}

// transitions returns the events between two statuses of a policy.
func transitions(before, after v1alpha1.RolloutPolicyStatus) (all []conditions.Event) {
	for _, e := range policies.Events(before, after) {
		all = append(all, conditions.Event{Type: e.Type, Reason: e.Reason, Action: "Rollout", Note: e.Note})
	}
	return all
}

// withKind returns a policy that events can refer to.
func withKind(p *v1alpha1.RolloutPolicy) *v1alpha1.RolloutPolicy {
	return &v1alpha1.RolloutPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "RolloutPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID},
	}
}

// catchUp reports whether the caches have what other managers wrote to nodes. It compares them with the API server after a start, and when
// another manager has written the status of a policy: a view that lacks nodes which have the target would admit too many.
func (r *rollouts) catchUp(ctx context.Context, sc *scope, specs map[string]spec) (bool, error) {
	if r.current {
		return true, nil
	}
	live := &metav1.PartialObjectMetadataList{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeCatalogList"))
	if err := r.live.List(ctx, live); err != nil {
		return false, wrap(err, "cannot list NodeCatalogs to compare the cache with")
	}
	for i := range live.Items {
		o := &live.Items[i]
		if is, cached := specs[o.Name]; sc.exists(o.Name) && ownedBy(o, sc.nodes[o.Name].UID) && (!cached || is.uid != o.UID || is.generation < o.Generation) {
			return false, nil
		}
	}
	r.current = true
	return true, nil
}
