package guard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/nodetoken"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// A renewal is a request for a token.
type renewal struct {
	agent string // the name of the token that it is made with
	spec  string // of the TokenRequest
	of    string // the account; by default the agent's
}

const week = 7 * 24 * 60 * 60

func toNode(node string, seconds int) string {
	return fmt.Sprintf(`{"boundObjectRef":{"apiVersion":"v1","kind":"Node","name":%q},"expirationSeconds":%d}`, node, seconds)
}

func TestAgentRenewsOnlyTheTokenOfItsNode(t *testing.T) {
	t.Parallel()

	cfg, _ := controlplane.Start(t)
	c := newCluster(t, cfg)
	audience := c.audience(t)
	own := renewal{"node-bound", toNode("node-bound", week), ""}
	denied := map[string]struct {
		renewal
		want string
	}{
		"for another node":          {renewal{"node-bound", toNode("node-a", week), ""}, "bound to Node node-bound"},
		"bound to nothing":          {renewal{"node-bound", `{"expirationSeconds":3600}`, ""}, "bound to Node node-bound"},
		"bound to a pod":            {renewal{"node-bound", `{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"agent-of-node-a"}}`, ""}, "bound to Node node-bound"},
		"bound to a secret":         {renewal{"node-bound", `{"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"node-bound"}}`, ""}, "bound to Node node-bound"},
		"for longer than a week":    {renewal{"node-bound", toNode("node-bound", week+1), ""}, "for at most 604800 s"},
		"for another audience":      {renewal{"node-bound", withAudiences(toNode("node-bound", week), "vault"), ""}, "the audience in the annotation"},
		"for its own and another":   {renewal{"node-bound", withAudiences(toNode("node-bound", week), audience, "vault"), ""}, "the audience in the annotation"},
		"for the empty audience":    {renewal{"node-bound", withAudiences(toNode("node-bound", week), ""), ""}, "the audience in the annotation"},
		"with the token of a pod":   {renewal{"node-a", toNode("node-a", 3600), ""}, "the agent of node node-a runs in a pod"},
		"with a token without node": {renewal{"bound to nothing", toNode("node-a", 3600), ""}, "an agent whose token names no node"},
	}

	t.Run("not before the audience is set", func(t *testing.T) {
		if _, err := c.renew(t, own); err == nil || !strings.Contains(err.Error(), "the audience in the annotation fettle.dev/token-audience") {
			t.Errorf("got %v", err)
		}
	})
	must(t, c.admin.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, nodetoken.AudienceAnnotation, audience))))
	var token string
	until(t, "the audience to be known", func() (err error) { token, err = c.renew(t, own); return err })

	t.Run("which works like the first", func(t *testing.T) {
		claims, err := nodetoken.Parse(token)
		must(t, err)
		if claims.Node != "node-bound" || claims.Account != account || claims.Expires.Sub(claims.Issued) != nodetoken.MaxLifetime {
			t.Errorf("%+v", claims)
		}
		renewed := rest.AnonymousClientConfig(cfg)
		renewed.BearerToken = token
		agent, err := dynamic.NewForConfig(renewed)
		must(t, err)
		for node, ok := range map[string]bool{"node-bound": true, "node-a": false} {
			_, err := agent.Resource(v1alpha1.GroupVersion.WithResource("nodecatalogs")).Patch(t.Context(), node, types.MergePatchType, []byte(`{"status":{"agentVersion":"renewed"}}`), metav1.PatchOptions{}, "status")
			if (err == nil) != ok {
				t.Errorf("the status of %s: %v", node, err)
			}
		}
	})
	t.Run("and gets no other", func(t *testing.T) {
		for name, r := range denied {
			if _, err := c.renew(t, r.renewal); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'fettle-nodeagent'") || !strings.Contains(err.Error(), r.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := c.renew(t, renewal{"node-bound", toNode("node-bound", week), "default"}); status(err) != 403 {
			t.Errorf("for another account: %v", err)
		}
	})
	t.Run("even with all permissions", func(t *testing.T) {
		widen(t, c)
		if _, err := c.renew(t, renewal{"node-bound", toNode("node-bound", week), "default"}); err == nil || !strings.Contains(err.Error(), "and nothing else: not CREATE serviceaccounts./token fettle-nodes/default") {
			t.Errorf("for another account: %v", err)
		}
	})
	t.Run("nor any after its Node is deleted", func(t *testing.T) {
		must(t, c.admin.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-bound"}}))
		until(t, "the token to be invalid", func() error {
			if _, err := c.renew(t, own); status(err) == 401 {
				return nil
			}
			return errors.New("it is valid")
		})
	})
}

// audience returns the audience of the API server.
func (c *cluster) audience(t *testing.T) string {
	t.Helper()
	token, err := controlplane.AgentToken(t.Context(), c.admin, nil)
	must(t, err)
	claims, err := nodetoken.Parse(token)
	must(t, err)
	return strings.Join(claims.Audiences, ",")
}

func withAudiences(spec string, audiences ...string) string {
	text, _ := json.Marshal(audiences) //nolint:errchkjson // they are strings
	return strings.Replace(spec, "{", `{"audiences":`+string(text)+",", 1)
}

// renew requests a token.
func (c *cluster) renew(t *testing.T, r renewal) (string, error) {
	t.Helper()
	name := account
	if r.of != "" {
		name = r.of
		_, err := c.set.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		must(t, client.IgnoreAlreadyExists(err))
	}
	var request unstructured.Unstructured
	must(t, request.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"name":%q},"spec":%s}`, name, r.spec)))
	ctx := t.Context()
	answer, err := c.agents[r.agent].Resource(corev1.SchemeGroupVersion.WithResource("serviceaccounts")).Namespace(namespace).Create(ctx, &request, metav1.CreateOptions{}, "token")
	if err != nil {
		return "", err
	}
	token, _, err := unstructured.NestedString(answer.Object, "status", "token")
	return token, err
}
