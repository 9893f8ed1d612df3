package guard_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// TestAgentsHaveOwnPriorityLevel reads the FlowSchema and priority level from the API server's response headers.
func TestAgentsHaveOwnPriorityLevel(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	c := newCluster(t, cfg)
	flows := c.set.FlowcontrolV1()
	schema, err := flows.FlowSchemas().Get(t.Context(), "fettle-nodes", metav1.GetOptions{})
	must(t, err)
	level, err := flows.PriorityLevelConfigurations().Get(t.Context(), "fettle-nodes", metav1.GetOptions{})
	must(t, err)
	agent := rest.AnonymousClientConfig(cfg)
	agent.BearerToken = c.token(t, "node-q")
	for _, path := range []string{
		"/apis/fettle.dev/v1alpha1/nodecatalogs?fieldSelector=metadata.name%3Dnode-q",
		"/apis/fettle.dev/v1alpha1/catalogs/none",
		"/apis/coordination.k8s.io/v1/namespaces/fettle-nodes/leases/node-q",
		"/version",
	} {
		until(t, "the queue of "+path, func() error {
			is := ask(t, agent, path)
			if is.schema != string(schema.UID) || is.level != string(level.UID) {
				return errors.New("the request matched FlowSchema " + is.schema)
			}
			return nil
		})
	}

	kubelet := rest.CopyConfig(cfg)
	kubelet.Impersonate = rest.ImpersonationConfig{UserName: "system:node:node-q", Groups: []string{"system:nodes", "system:authenticated"}}
	nodes, err := flows.PriorityLevelConfigurations().Get(t.Context(), "node-high", metav1.GetOptions{})
	must(t, err)
	if is := ask(t, kubelet, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-q"); is.level != string(nodes.UID) {
		t.Errorf("a kubelet's request has priority level %s", is.level)
	}
	if level.Spec.Type != flowcontrolv1.PriorityLevelEnablementLimited || *level.Spec.Limited.BorrowingLimitPercent != 0 || *level.Spec.Limited.NominalConcurrencyShares >= *nodes.Spec.Limited.NominalConcurrencyShares {
		t.Errorf("agents can borrow capacity from kubelets: %+v", level.Spec.Limited)
	}
}

// taken identifies the FlowSchema and priority level of a request by UID.
type taken struct{ schema, level string }

func ask(t *testing.T, cfg *rest.Config, path string) taken {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	must(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+strings.TrimPrefix(cfg.Host, "https://")+path, http.NoBody)
	must(t, err)
	answer, err := client.Do(request)
	must(t, err)
	defer answer.Body.Close()
	return taken{answer.Header.Get("X-Kubernetes-PF-FlowSchema-UID"), answer.Header.Get("X-Kubernetes-PF-PriorityLevel-UID")}
}
