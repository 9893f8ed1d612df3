package reportsapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	fettle "github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
)

// Limits of plans.
const (
	// maxPlans is the number of plans that are made at the same time. One of them at a time reads manifests and compiles the fleet,
	// which takes most of the memory. Clients ask again when there are more.
	maxPlans = 2
	// askingTime is how long one request begins to ask nodes. With the time for the last answers it ends before an API server ends a
	// request, after 34 s.
	askingTime = 20 * time.Second
	// retryAfter is how long a client is to wait, in seconds.
	retryAfter = 2
	// maxNoted is the number of resources in one record of the log.
	maxLogged = 50
)

// A BaseFunc returns what plans are compared with. Its error is shown to the caller.
type BaseFunc func(ctx context.Context) (*planning.Base, error)

// plans are made when they are created.
type plans struct {
	clusterScoped
	hub    *questions.Hub
	base   BaseFunc
	rights authorizer.Authorizer
	slots  chan struct{} // of capacity maxPlans
	// compiling is of capacity one. The plan that is compiled has filled it.
	compiling chan struct{}
	log       logr.Logger
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
		return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d other plans are being made, and no more are made at a time: try again later", maxPlans), retryAfter)
	}
	began := time.Now()
	proposed, notes, view, err := s.propose(ctx, p.Spec)
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
	status.Groups, status.Continue = proposed.Ask(ctx, s.hub, planning.Request{Sample: int(p.Spec.Sample), After: p.Spec.Continue, Stop: stop, View: view})
	status.Problems = proposed.Problems[:min(len(proposed.Problems), v1alpha1.MaxPlanChanges)]
	status.OmittedProblems = int32(len(proposed.Problems) - len(status.Problems)) //nolint:gosec // a fleet has fewer resources
	return result, ctx.Err()
}

// propose compiles what a caller may plan, and returns what the caller may know of hosts.
func (s plans) propose(ctx context.Context, spec v1alpha1.PlanSpec) (p *planning.Proposed, notes []string, view planning.View, err error) {
	select {
	case s.compiling <- struct{}{}:
		defer func() { <-s.compiling }()
	case <-ctx.Done():
		return nil, nil, 0, ctx.Err()
	}
	caller, err := rightsOf(ctx, s.rights)
	if err != nil {
		return nil, nil, 0, err
	}
	base, err := s.base(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	change, notes, err := readChange(ctx, caller, base, spec)
	if err != nil {
		return nil, nil, 0, err
	}
	if view, err = viewOf(ctx, caller, change); err != nil {
		return nil, nil, 0, err
	}
	s.logRequest(ctx, caller, base, change.Change)
	p, err = planning.Propose(ctx, base, change.Change)
	switch failed := base.Close(); {
	case errors.Is(err, planning.ErrTooLarge):
		return nil, nil, 0, tooLarge(err)
	case err == nil && failed != nil:
		return nil, nil, 0, apierrors.NewInternalError(failed)
	}
	return p, notes, view, err
}

// viewOf returns what a caller may know of hosts.
func viewOf(ctx context.Context, caller rights, c readableChange) (planning.View, error) {
	reads, err := caller.may(ctx, "get", target{GroupVersionResource: v1alpha1.GroupVersion.WithResource("nodediffs")})
	switch {
	case err != nil:
		return planning.Catalogs, err
	case reads:
		return planning.Values, nil
	case c.onlyPlanned:
		return planning.Catalogs, nil
	}
	return planning.Outcomes, nil
}

func tooLarge(err error) error { return apierrors.NewRequestEntityTooLargeError(err.Error()) }

// logRequest logs the user and the change of a plan. The audit log of the API server has the same identifier, and the caller, but not the body of the request,
// which the API server passes on unread. A long change takes several records, because logs have limits for each.
func (s plans) logRequest(ctx context.Context, caller rights, base *planning.Base, change planning.Change) {
	puts, removes := refsOf(change.Put), refsOf(base.Removed(change))
	for first := true; first || len(puts)+len(removes) > 0; first = false {
		put, remove := puts[:min(len(puts), maxLogged)], removes[:min(len(removes), maxLogged)]
		s.log.Info("planning", "user", caller.caller.GetName(), "auditID", audit.GetAuditIDTruncated(ctx), "put", joined(put), "remove", joined(remove))
		puts, removes = puts[len(put):], removes[len(remove):]
	}
}

// joined names all resources: a name that is left out is one that nobody can find later.
func joined(refs []fettle.ResourceRef) string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = string(ref)
	}
	return strings.Join(names, ", ")
}

func refsOf(all []fettle.Resource) []fettle.ResourceRef {
	refs := make([]fettle.ResourceRef, len(all))
	for i, r := range all {
		refs[i] = fettle.RefOf(r)
	}
	return refs
}
