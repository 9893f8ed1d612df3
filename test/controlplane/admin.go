package controlplane

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Admin is a client without a cache that knows the kinds of Kubernetes and of fettle.dev.
func Admin(t T, cfg *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatalf("cannot register kinds: %v", err)
		}
	}
	admin, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("cannot make a client: %v", err)
	}
	return admin
}

// AgentToken is a token of the agents' account that is bound to a Node or a Pod that there
// is, or to nothing for nil. It is valid for longer than any test takes.
func AgentToken(ctx context.Context, admin client.Client, bound client.Object) (string, error) {
	const validity = 24 * 60 * 60 // seconds
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(validity))}}
	if bound != nil {
		gvk, err := admin.GroupVersionKindFor(bound)
		if err != nil {
			return "", fmt.Errorf("cannot bind a token to %s: %w", bound.GetName(), err)
		}
		version, kind := gvk.ToAPIVersionAndKind()
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: version, Kind: kind, Name: bound.GetName(), UID: bound.GetUID()}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: "fettle-nodeagent"}}
	if err := admin.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("cannot create a token: %w", err)
	}
	return request.Status.Token, nil
}
