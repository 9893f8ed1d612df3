// Package reportsapi serves the API reports.fettle.dev, which the API server passes on to the manager.
//
// Nothing is stored: reports and differences are the answers of nodes, which their callers wait for.
package reportsapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/questions"
)

// decisionTTL is how long a decision about the rights of a caller is used again.
const decisionTTL = 10 * time.Second

// maxChanging is the number of requests with a body that are handled at the same time, beside answers of nodes: plans.
const maxChanging = 50

// newHandler returns a handler of requests that the API server passes on. What it needs runs until ctx ends.
func newHandler(ctx context.Context, cfg *restclient.Config, hub *questions.Hub, check Checker, base BaseFunc, log logr.Logger) (http.Handler, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	identity, err := newProxyIdentity(client)
	if err != nil {
		return nil, err
	}
	if err := identity.start(ctx); err != nil {
		return nil, err
	}
	rights, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: decisionTTL, DenyCacheTTL: decisionTTL,
		WebhookRetryBackoff: &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3},
	}.New()
	if err != nil {
		return nil, fmt.Errorf("cannot check the rights of callers: %w", err)
	}
	public, err := newScheme()
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme(v1alpha1.AddInternalToScheme)
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	c := server.NewConfig(codecs)
	c.Authentication.Authenticator, c.Authorization.Authorizer = identity.authenticator, rights
	c.ExternalAddress, c.LoopbackClientConfig = "fettle-reports:443", &restclient.Config{} // neither is used
	c.EffectiveVersion = basecompatibility.NewEffectiveVersionFromString("1.0", "", "")
	c.EnableMetrics, c.EnableProfiling = false, false
	c.MaxRequestsInFlight, c.MaxMutatingRequestsInFlight, c.MaxRequestBodyBytes = 2*questions.MaxQuestions, maxChanging, v1alpha1.MaxPlanBytes
	c.LongRunningFunc = withoutInFlightLimit
	plansAtOnce := &bodies{encoder: codecs}
	c.BuildHandlerChainFunc = func(next http.Handler, c *server.Config) http.Handler {
		return server.DefaultBuildHandlerChain(admitAnswers(hub, codecs, plansAtOnce.admit(next)), c)
	}
	namer := openapi.NewDefinitionNamer(public)
	c.OpenAPIV3Config = server.DefaultOpenAPIV3Config(definitions, namer)
	c.OpenAPIV3Config.Info.Title = "Fettle"
	c.OpenAPIConfig = server.DefaultOpenAPIConfig(definitions, namer)
	c.OpenAPIConfig.Info.Title = "Fettle"
	s, err := c.Complete(nil).New("fettle-reports", server.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("cannot set up the API %s: %w", v1alpha1.GroupVersion.Group, err)
	}
	group := server.NewDefaultAPIGroupInfo(v1alpha1.GroupVersion.Group, scheme, metav1.ParameterCodec, codecs)
	group.NegotiatedSerializer = onlyJSON{codecs}
	group.VersionedResourcesStorageMap[v1alpha1.GroupVersion.Version] = resources(hub, check)
	group.VersionedResourcesStorageMap[v1alpha1.GroupVersion.Version]["plans"] = plans{
		clusterScoped: clusterScoped{"plan"}, hub: hub, base: base, rights: rights, slots: make(chan struct{}, maxPlans), compiling: make(chan struct{}, 1), log: log,
	}
	if err := s.InstallAPIGroup(&group); err != nil {
		return nil, fmt.Errorf("cannot set up the API %s: %w", v1alpha1.GroupVersion.Group, err)
	}
	if _, _, err := s.PrepareRun().NonBlockingRunWithContext(ctx, 0); err != nil { // it has no listener: it runs what the handler needs
		return nil, fmt.Errorf("cannot start the API %s: %w", v1alpha1.GroupVersion.Group, err)
	}
	return streams{filters: s.Handler, encoder: codecs.LegacyCodec(v1alpha1.GroupVersion)}, nil
}

// onlyJSON leaves out the formats of other APIs. A body of YAML would take memory out of proportion to its size, before anyone looks
// at what it is about.
type onlyJSON struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements [runtime.NegotiatedSerializer].
func (o onlyJSON) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(o.NegotiatedSerializer.SupportedMediaTypes()), func(i runtime.SerializerInfo) bool {
		return i.MediaType != runtime.ContentTypeJSON
	})
}

// resources are the kinds that are served, by their names in URLs.
func resources(hub *questions.Hub, check Checker) map[string]rest.Storage {
	callers := asker{hub: hub, check: check}
	return map[string]rest.Storage{
		"nodequestions": nodeQuestions{clusterScoped{"nodequestion"}, rest.NewDefaultTableConvertor(resourceOf("nodequestions")), hub},
		"nodequestions/" + v1alpha1.SubresourceAnswer: attachedAnswers{clusterScoped{"nodequestion"}, hub},
		"nodeanswers": nodeAnswers{clusterScoped{"nodeanswer"}, hub},
		"nodediffs":   nodeDiffs{clusterScoped: clusterScoped{"nodediff"}, asker: callers},
		"nodereports": nodeReports{clusterScoped: clusterScoped{"nodereport"}, asker: callers},
	}
}

// newScheme returns the kinds that a server encodes and decodes.
func newScheme(more ...func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range append(more, v1alpha1.AddToScheme) {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("cannot register kinds: %w", err)
		}
	}
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme, nil
}
