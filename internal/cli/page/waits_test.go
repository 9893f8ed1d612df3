package page_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/cli/live"
	"github.com/fettle-dev/fettle/internal/cli/revision"
)

// The revisions that nodes have, and that they are to get.
var before, next = "sha256-" + strings.Repeat("1", 64), "sha256-" + strings.Repeat("2", 64)

// rolling is the small fleet while a revision with another File/motd is halted. web-1 has it, web-2 has not, and web-3 has no policy.
func rolling() *fleet {
	f := small()
	prod := v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	prod.Status = v1alpha1.RolloutPolicyStatus{Stable: before, Target: next, Nodes: v1alpha1.RolloutNodes{Total: 2, Affected: 1042, Admitted: 1, Proven: 17, Failed: 3}}
	const message = "3 of 20 admitted nodes failed: <b>web-1</b>"
	for kind, status := range map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: metav1.ConditionFalse, v1alpha1.ConditionStalled: metav1.ConditionTrue} {
		prod.Status.Conditions = append(prod.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: v1alpha1.ReasonRolloutHalted, Message: message})
	}
	rest := v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: "at-rest"}}
	rest.Status = v1alpha1.RolloutPolicyStatus{Stable: before, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRolledOut}}}
	f.policies = []v1alpha1.RolloutPolicy{rest, prod}
	motd := func(content string) revision.Content {
		return revision.Content{"File/motd": {
			Targeting: v1alpha1.Targeting{NodeSelector: &metav1.LabelSelector{}},
			Entry:     &v1alpha1.CatalogEntry{Kind: "File", Name: "motd", Attributes: &runtime.RawExtension{Raw: []byte(`{"content":"` + content + `"}`)}},
		}}
	}
	f.revisions = map[string]revision.Content{before: motd("old"), next: motd("new")}
	f.nodes[0].Spec.Rollout = &v1alpha1.NodeRollout{Policy: "prod", Revision: next}
	f.nodes[1].Spec.Rollout = &v1alpha1.NodeRollout{Policy: "prod", Revision: before}
	return f
}

func TestPagesShowRolloutsAndWhatWaitsForThem(t *testing.T) {
	t.Parallel()

	const waits = "still at revision 1111111111: prod: 3 of 20 admitted nodes failed: &lt;b&gt;web-1&lt;/b&gt;"
	gone := rolling()
	gone.policies = nil
	unknown := rolling()
	unknown.policies, unknown.policiesErr = nil, errors.New("the server is away")
	for name, tt := range map[string]struct {
		fleet       *fleet
		url         string
		has, hasNot []string
	}{
		"the overview has each policy that is not at rest": {
			rolling(), "/",
			[]string{
				`<th scope="row">prod</th><td><span class="state state-Failed">RolloutHalted</span></td><td>2222222222</td><td class="number">1,042</td><td class="number">17</td><td class="number">3</td><td>3 of 20 admitted nodes failed: &lt;b&gt;`,
			},
			[]string{"at-rest"},
		},
		"a node waits": {
			rolling(), "/nodes/web-2", []string{"<dd>prod</dd>", "<dd>1111111111</dd>", waits, `<dt>Waits for</dt><dd><a href="/resources/File/motd">`}, nil,
		},
		"a node that has the revision does not": {rolling(), "/nodes/web-1", []string{"<dd>2222222222</dd>"}, []string{"<dt>Waits"}},
		"a node without a policy does not":      {rolling(), "/nodes/web-3", nil, []string{"RolloutPolicy", "<dt>Waits"}},
		"a resource waits on a node":            {rolling(), "/resources/File/motd?q=web-2", []string{waits}, nil},
		"a resource that does not change":       {rolling(), "/resources/User/ann", nil, []string{"still at"}},
		"no policies, on the overview":          {gone, "/", nil, []string{"Rollout"}},
		"no policies, on a node":                {gone, "/nodes/web-2", nil, []string{"Rollout", "<dt>Waits"}},
		"no policies, on a resource":            {gone, "/resources/File/motd", nil, []string{"rollout", "still at"}},
		"unknown policies, on the overview":     {unknown, "/", []string{"Not known: the server is away", "Problems"}, nil},
		"unknown policies, on a node":           {unknown, "/nodes/web-2", []string{"Not known: the server is away", "ResourcesFailed"}, nil},
		"unknown policies, on a resource":       {unknown, "/resources/File/motd", []string{"Which nodes wait for a rollout is not known: the server is away", "cannot write"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, body := get(t, handler(tt.fleet), tt.url)
			if code != http.StatusOK {
				t.Errorf("status %d", code)
			}
			for _, text := range tt.has {
				if !strings.Contains(body, text) {
					t.Errorf("there is no %s in\n%s", text, body)
				}
			}
			for _, text := range tt.hasNot {
				if strings.Contains(body, text) {
					t.Errorf("there is %s in\n%s", text, body)
				}
			}
		})
	}
}

func TestPagesWaitForPolicies(t *testing.T) {
	t.Parallel()

	for _, url := range []string{"/", "/nodes/web-2", "/resources/File/motd"} {
		f := rolling()
		f.policiesErr = live.ErrReading
		if _, body := get(t, handler(f), url); !strings.Contains(body, "Reading from the cluster") || strings.Contains(body, "ot known") {
			t.Errorf("%s: %s", url, body)
		}
	}
}
