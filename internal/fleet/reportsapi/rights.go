package reportsapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// verbPlan is the right to plan changes of a kind without the right to make them.
const verbPlan = "plan"

// rights are the rights of the caller of a request.
type rights struct {
	authorizer authorizer.Authorizer
	caller     user.Info
}

// rightsOf returns the rights of a caller. The error is shown to the caller.
func rightsOf(ctx context.Context, a authorizer.Authorizer) (rights, error) {
	caller, ok := request.UserFrom(ctx)
	if !ok {
		return rights{}, apierrors.NewUnauthorized("the request has no user")
	}
	return rights{a, caller}, nil
}

// A target is what a right is about: a resource of an API, and an object unless Name is "".
type target struct {
	schema.GroupVersionResource
	Namespace, Name string
}

// may reports whether the caller has a right.
func (r rights) may(ctx context.Context, verb string, of target) (bool, error) {
	decision, _, err := r.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: r.caller, Verb: verb, APIGroup: of.Group, APIVersion: of.Version, Resource: of.Resource, Namespace: of.Namespace, Name: of.Name, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("cannot check the rights of %q: %w", r.caller.GetName(), err))
	}
	return false, nil
}

// mayPlan returns an error unless the caller may make a change with a verb, or may plan it. planner tells whether only the latter.
func (r rights) mayPlan(ctx context.Context, verb string, of target) (planner bool, err error) {
	if ok, err := r.may(ctx, verb, of); ok || err != nil {
		return false, err
	}
	if ok, err := r.may(ctx, verbPlan, of); ok || err != nil {
		return true, err
	}
	return false, apierrors.NewForbidden(of.GroupResource(), of.Name, fmt.Errorf("%q may neither %s nor %s %s: bind the role fettle-planner", r.caller.GetName(), verb, verbPlan, of.GroupResource()))
}
