package reportsapi

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	fettle "github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
	"github.com/fettle-dev/fettle/internal/text"
)

// Limits of plans.
const (
	// maxPlans is the number of plans that are made at the same time. Each compiles the fleet. Clients ask again when there are more.
	maxPlans = 2
	// askingTime is how long one request begins to ask nodes. With the time for the last answers it ends before an API server ends a
	// request, after 34 s.
	askingTime = 20 * time.Second
)

// A Baser returns what plans are compared with. The error is for the caller.
type Baser func(ctx context.Context) (*planning.Base, error)

// plans are made when they are created.
type plans struct {
	clusterScoped
	hub    *questions.Hub
	base   Baser
	rights authorizer.Authorizer
	slots  chan struct{} // of capacity maxPlans
	log    logr.Logger
}

// New implements [rest.Storage].
func (plans) New() runtime.Object { return &v1alpha1.Plan{} }

// Create makes a plan.
func (s plans) Create(ctx context.Context, o runtime.Object, _ rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	p, ok := o.(*v1alpha1.Plan)
	if !ok {
		return nil, apierrors.NewBadRequest("the body is not a Plan")
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d other plans are being made, and no more are made at a time: try again later", maxPlans), 2)
	}
	began := time.Now()
	proposed, notes, values, err := s.propose(ctx, p.Spec)
	if err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	timer := time.AfterFunc(max(0, askingTime-time.Since(began)), func() { close(stop) })
	defer timer.Stop()
	result := &v1alpha1.Plan{ObjectMeta: metav1.ObjectMeta{Name: p.Name, CreationTimestamp: metav1.NewTime(began)}, Status: v1alpha1.PlanStatus{
		Total: int32(proposed.Total), Affected: int32(len(proposed.Nodes)), Notes: notes, //nolint:gosec // a cluster has fewer nodes
	}}
	status := &result.Status
	status.Groups, status.Continue = proposed.Ask(ctx, s.hub, planning.Request{Sample: int(p.Spec.Sample), After: p.Spec.Continue, Stop: stop, Values: values})
	status.Problems = proposed.Problems[:min(len(proposed.Problems), v1alpha1.MaxPlanChanges)]
	status.OmittedProblems = int32(len(proposed.Problems) - len(status.Problems)) //nolint:gosec // a fleet has fewer resources
	return result, ctx.Err()
}

// propose compiles what a caller may plan. values tells whether the caller may see values of hosts.
func (s plans) propose(ctx context.Context, spec v1alpha1.PlanSpec) (p *planning.Proposed, notes []string, values bool, err error) {
	caller, err := rightsOf(ctx, s.rights)
	if err != nil {
		return nil, nil, false, err
	}
	if values, err = caller.may(ctx, "get", thing{GroupVersionResource: v1alpha1.GroupVersion.WithResource("nodediffs")}); err != nil {
		return nil, nil, false, err
	}
	base, err := s.base(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	change, notes, err := readChange(ctx, base, spec)
	if err != nil {
		return nil, nil, false, err
	}
	if err := checkRights(ctx, caller, base, change); err != nil {
		return nil, nil, false, err
	}
	s.note(ctx, caller, base, change)
	p = planning.Propose(base, change)
	if err := base.Close(); err != nil {
		return nil, nil, false, apierrors.NewInternalError(err)
	}
	return p, notes, values, nil
}

// note logs who plans what. The audit log of the API server has the same identifier, and the caller, but not the body of the request,
// which the API server passes on unread.
func (s plans) note(ctx context.Context, caller rights, base *planning.Base, change planning.Change) {
	puts, removes := refsOf(change.Put), refsOf(base.Removed(change))
	s.log.Info("planning", "user", caller.caller.GetName(), "auditID", audit.GetAuditIDTruncated(ctx), "put", text.List(puts), "remove", text.List(removes))
}

func refsOf(all []fettle.Resource) []fettle.ResourceRef {
	refs := make([]fettle.ResourceRef, len(all))
	for i, r := range all {
		refs[i] = fettle.RefOf(r)
	}
	return refs
}

// checkRights returns an error unless the caller may make or plan the change. Who only plans must be able to read the ConfigMaps that
// the resources refer to: their contents would be in diffs.
func checkRights(ctx context.Context, caller rights, base *planning.Base, change planning.Change) error {
	exists := make(map[fettle.ResourceRef]bool, len(base.Input.Resources))
	for _, r := range base.Input.Resources {
		exists[fettle.RefOf(r)] = true
	}
	for _, r := range change.Put {
		if err := caller.mayPut(ctx, base, change, r, exists[fettle.RefOf(r)]); err != nil {
			return err
		}
	}
	for _, r := range base.Removed(change) {
		if _, err := caller.mayPlan(ctx, "delete", thingOf(base, r.KindName())); err != nil {
			return err
		}
	}
	for name := range change.ConfigMaps {
		if _, err := caller.mayPlan(ctx, "update", configMap(name.Namespace, name.Name)); err != nil {
			return err
		}
	}
	return nil
}

// mayPut returns an error unless the caller may create or replace a resource, or plan that.
func (r rights) mayPut(ctx context.Context, base *planning.Base, change planning.Change, what fettle.Resource, exists bool) error {
	verb := "create"
	if exists {
		verb = "update"
	}
	planner, err := r.mayPlan(ctx, verb, thingOf(base, what.KindName()))
	if err != nil || !planner {
		return err
	}
	return r.mayRead(ctx, what, change)
}

// mayRead returns an error unless the caller may read the ConfigMaps that a resource refers to, or brings them.
func (r rights) mayRead(ctx context.Context, of fettle.Resource, change planning.Change) error {
	for _, v := range fettle.ValueReferencesOf(of) {
		from := v.From.ConfigMapKeyRef
		if from == nil {
			continue
		}
		if _, brought := change.ConfigMaps[nameOf(from)]; brought {
			continue
		}
		it := configMap(from.Namespace, from.Name)
		ok, err := r.may(ctx, "get", it)
		if err != nil {
			return err
		}
		if !ok {
			return apierrors.NewForbidden(it.GroupResource(), from.Name, fmt.Errorf("%s: %s refers to it, and %q may not read it in namespace %s", fettle.RefOf(of), v.Field, r.caller.GetName(), from.Namespace))
		}
	}
	return nil
}

// thingOf is the resource of the API that has the objects of a kind.
func thingOf(base *planning.Base, kind string) thing {
	gvk := fettle.GroupVersionOf(kind).WithKind(kind)
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	if i := slices.IndexFunc(base.Types, func(t *fettle.ExternalType) bool { return t.Spec.Kind == kind }); i >= 0 {
		plural.Resource = base.Types[i].Name
	}
	return thing{GroupVersionResource: plural}
}
