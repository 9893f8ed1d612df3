package targeting_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/compiler/targeting"
	"github.com/fettle-dev/fettle/internal/expression"
)

// The labels are those of the admission plugin NodeRestriction and of the kubelet's API.
func TestLabelsThatKubeletsCannotSetAreProtected(t *testing.T) {
	t.Parallel()

	var env expression.Environment
	for key, want := range map[string]bool{
		"node-restriction.kubernetes.io/tier":        true,
		"ops.node-restriction.kubernetes.io/tier":    true,
		"node-role.kubernetes.io/control-plane":      true,
		"kubernetes.io/role":                         true,
		"example.k8s.io/role":                        true,
		"k8s.io/role":                                true,
		"node.alpha.kubernetes.io/x":                 true,
		"role":                                       false,
		"example.com/role":                           false,
		"example.com/node-restriction.kubernetes.io": false,
		"xnode-restriction.kubernetes.io.example/x":  false,
		"notkubernetes.io/x":                         false,
		"kubernetes.io/hostname":                     false,
		"kubernetes.io/os":                           false,
		"kubernetes.io/arch":                         false,
		"topology.kubernetes.io/zone":                false,
		"topology.kubernetes.io/region":              false,
		"failure-domain.beta.kubernetes.io/zone":     false,
		"failure-domain.beta.kubernetes.io/region":   false,
		"beta.kubernetes.io/instance-type":           false,
		"beta.kubernetes.io/os":                      false,
		"beta.kubernetes.io/arch":                    false,
		"node.kubernetes.io/instance-type":           false,
		"node.kubernetes.io/anything":                false,
		"ops.node.kubernetes.io/anything":            false,
		"kubelet.kubernetes.io/anything":             false,
		"ops.kubelet.kubernetes.io/anything":         false,
	} {
		of := &v1alpha1.Targeting{NodeSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}}}}
		if got := len(targeting.KubeletControlled(of, &env)) == 0; got != want {
			t.Errorf("%s: protected is %t, want %t", key, got, want)
		}
	}
}

func TestKubeletControlledPartsOfAnExpression(t *testing.T) {
	t.Parallel()

	var env expression.Environment
	for expression, want := range map[string][]string{
		``:                               nil,
		`true`:                           nil,
		`node.name == "web-1"`:           nil,
		`node.name.startsWith("web-")`:   nil,
		`node.name in ["web-1", "db-1"]`: nil,
		`["web-1", "db-1"].exists(n, n == node.name)`:                                         nil,
		`node.labels["node-restriction.kubernetes.io/tier"] == "secret"`:                      nil,
		`"node-restriction.kubernetes.io/tier" in node.labels`:                                nil,
		`!("role" in node.labels) && node.name != "x"`:                                        {"label role"},
		`node.labels.role == "web"`:                                                           {"label role"},
		`has(node.labels.role)`:                                                               {"label role"},
		`node.labels["role"] == "web" && node.labels["node-role.kubernetes.io/master"] == ""`: {"label role"},
		`node.labels[node.name] == "web"`:                                                     {"node.labels"},
		`node.labels.exists(k, k == "role")`:                                                  {"node.labels"},
		`node.labels == {"role": "web"}`:                                                      {"node.labels"},
		`node["labels"]["role"] == "web"`:                                                     {"node"},
		`node == {"name": "web-1"}`:                                                           {"node"},
		`node.annotations.x == "y"`:                                                           {"node.annotations"},
		`facts.os.family == "Debian"`:                                                         {"facts"},
		`has(facts.os)`:                                                                       {"facts"},
		`"os" in facts`:                                                                       {"facts"},
		`node.name == "web-1" ? facts.a == 1 : has(node.labels.b)`:                            {"facts", "label b"},
		`[1, 2].all(i, i < facts.processors.count)`:                                           {"facts"},
		`{"a": facts.x}.a == {facts.y: 1}["b"]`:                                               {"facts"},
		`dyn(facts).a == 1`:                                                                   {"facts"},

		// At the root.
		`.node.name == "web-1"`:          nil,
		`.node.labels.role == "db"`:      {"label role"},
		`"role" in .node.labels`:         {"label role"},
		`.facts.os.family == "Debian"`:   {"facts"},
		`[.node].all(n, n.labels.a=="")`: {"node"},
	} {
		of := &v1alpha1.Targeting{NodeSelector: &metav1.LabelSelector{}, When: expression}
		if diff := cmp.Diff(want, targeting.KubeletControlled(of, &env)); diff != "" {
			t.Errorf("%s: %s", expression, diff)
		}
	}
}
