package reportsapi

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	fettle "github.com/fettle-dev/fettle/api/v1alpha1"
)

// nodeOf returns the node of the agent that makes a request, from the node claim of its token. The error is shown to
// the caller.
func nodeOf(ctx context.Context, of schema.GroupResource) (string, error) {
	caller, ok := request.UserFrom(ctx)
	if !ok {
		return "", apierrors.NewUnauthorized("the request has no user")
	}
	node, err := nodeOfUser(caller)
	if err != nil {
		return "", apierrors.NewForbidden(of, "", err)
	}
	return node, nil
}

// nodeOfUser returns the node in the token of an agent.
func nodeOfUser(caller user.Info) (string, error) {
	if !slices.Contains(caller.GetGroups(), serviceaccount.MakeNamespaceGroupName(fettle.AgentNamespace)) {
		return "", fmt.Errorf("%q is not an agent: questions are for the agents of nodes alone", caller.GetName())
	}
	nodes := caller.GetExtra()[serviceaccount.NodeNameKey]
	if len(nodes) != 1 || nodes[0] == "" {
		return "", fmt.Errorf("the token of agent %q names no node: give it a token that is bound to a pod on its node", caller.GetName())
	}
	return nodes[0], nil
}
