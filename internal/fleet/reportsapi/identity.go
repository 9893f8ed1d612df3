package reportsapi

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// The ConfigMap in which the API server publishes how it identifies itself when it passes on requests.
const (
	proxyNamespace = metav1.NamespaceSystem
	proxyConfigMap = "extension-apiserver-authentication"
)

// A proxyIdentity believes the API server, and nobody else, who makes a request.
type proxyIdentity struct {
	authenticator authenticator.Request
	run           []dynamiccertificates.ControllerRunner
	headers       *headerrequest.RequestHeaderAuthRequestController
}

func newProxyIdentity(client kubernetes.Interface) (*proxyIdentity, error) {
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController("proxy", proxyNamespace, proxyConfigMap, "requestheader-client-ca-file", client)
	if err != nil {
		return nil, fmt.Errorf("cannot follow ConfigMap %s/%s: %w", proxyNamespace, proxyConfigMap, err)
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(proxyConfigMap, proxyNamespace, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix", "requestheader-allowed-names")
	provide := func(f func() []string) headerrequest.StringSliceProvider {
		return headerrequest.StringSliceProviderFunc(f)
	}
	caller := headerrequest.NewDynamicVerifyOptionsSecure(ca.VerifyOptions, provide(headers.AllowedClientNames),
		provide(headers.UsernameHeaders), provide(headers.UIDHeaders), provide(headers.GroupHeaders), provide(headers.ExtraHeaderPrefixes))
	return &proxyIdentity{authenticator: group.NewAuthenticatedGroupAdder(caller), run: []dynamiccertificates.ControllerRunner{ca, headers}, headers: headers}, nil
}

// start reads the ConfigMap, and follows it until ctx ends.
func (p *proxyIdentity) start(ctx context.Context) error {
	for _, c := range p.run {
		if err := c.RunOnce(ctx); err != nil {
			return fmt.Errorf("cannot read ConfigMap %s/%s: %w", proxyNamespace, proxyConfigMap, err)
		}
		go c.Run(ctx, 1)
	}
	return nil
}
