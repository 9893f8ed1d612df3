package guard_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestAgentsHaveOwnPriorityLevels reads the FlowSchema and priority level from the API server's response headers.
func TestAgentsHaveOwnPriorityLevels(t *testing.T) {
	t.Parallel()

	cfg := shared() // which no other test populates
	c := newCluster(t, cfg)
	flows := c.set.FlowcontrolV1()
	nodes, err := flows.PriorityLevelConfigurations().Get(t.Context(), "node-high", metav1.GetOptions{})
	must(t, err)
	agent := rest.AnonymousClientConfig(cfg)
	agent.BearerToken = c.token(t, "node-q")
	for name, paths := range map[string][]string{
		"fettle-nodes": {
			"/apis/fettle.dev/v1alpha1/nodecatalogs?fieldSelector=metadata.name%3Dnode-q",
			"/apis/fettle.dev/v1alpha1/catalogs/none",
			"/version",
			// These can occupy seats for as long as their senders like.
			"/apis/reports.fettle.dev/v1alpha1/nodequestions", "/apis/reports.fettle.dev/v1alpha1/nodeanswers",
		},
		"fettle-leases":  {"/apis/coordination.k8s.io/v1/namespaces/fettle-nodes/leases/node-q"},
		"fettle-answers": {"/apis/reports.fettle.dev/v1alpha1/nodequestions?watch=true"},
	} {
		schema, err := flows.FlowSchemas().Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		level, err := flows.PriorityLevelConfigurations().Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		for _, path := range paths {
			until(t, "the queue of "+path, func() error {
				is := ask(t, agent, path)
				if is.schema != string(schema.UID) || is.level != string(level.UID) {
					return errors.New("the request matched FlowSchema " + is.schema)
				}
				return nil
			})
		}
		if limited := level.Spec.Limited; level.Spec.Type != flowcontrolv1.PriorityLevelEnablementLimited || *limited.BorrowingLimitPercent != 0 ||
			*limited.NominalConcurrencyShares >= *nodes.Spec.Limited.NominalConcurrencyShares {
			t.Errorf("agents can borrow capacity from kubelets in %s: %+v", name, limited)
		}
	}

	kubelet := rest.CopyConfig(cfg)
	kubelet.Impersonate = rest.ImpersonationConfig{UserName: "system:node:node-q", Groups: []string{"system:nodes", "system:authenticated"}}
	if is := ask(t, kubelet, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-q"); is.level != string(nodes.UID) {
		t.Errorf("a kubelet's request has priority level %s", is.level)
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
