package status_test

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent/status"
	"github.com/fettle-dev/fettle/test/fixtures/golden"
)

// The samples for Argo CD's health check and kstatus must match the statuses of this agent.
func TestArgoCDHealthStatuses(t *testing.T) {
	withheld := ran(noon(), inSync("a"))
	withheld.Withheld = []v1alpha1.Withheld{{Ref: "File/b", Reason: v1alpha1.ReasonConflict, Message: "also File/c"}}
	for name, in := range map[string]status.Input{
		"node-applying": {},
		"node-in-sync":  {Run: ran(noon(), inSync("a"), changed("b", true))},
		"node-noop":     {Run: ran(noon(), inSync("a"), noop("b"))},
		"node-failed":   {Run: ran(noon(), inSync("a"), failed("b", "cannot write /etc/b: no space left on device"))},
		"node-skipped":  {Run: ran(noon(), inSync("a"), skipped("b"))},
		"node-withheld": {Run: withheld},
		"node-disabled": {Run: ran(noon(), inSync("a")), Problem: &status.Problem{Reason: v1alpha1.ReasonDisabled, Message: "disabled on the host: maintenance until Monday"}},
		"node-invalid":  {Run: ran(noon(), inSync("a")), Problem: &status.Problem{Reason: v1alpha1.ReasonCatalogInvalid, Message: "catalog sha256-aa is invalid: it is empty"}},
		"node-stuck":    {Run: ran(noon(), inSync("a")), Problem: &status.Problem{Reason: v1alpha1.ReasonRunFailed, Message: "cannot lock the state: no space left on device"}},
	} {
		t.Run(name, func(t *testing.T) {
			in.Now, in.Generation, in.AgentVersion = noon(), 3, "v1"
			o := v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "web-7", Generation: 3}}
			o.APIVersion, o.Kind = v1alpha1.GroupVersion.String(), "NodeCatalog"
			o.Status, _ = status.Next(o.Status, in)
			golden.YAML(t, filepath.Join("../../config/argocd/testdata", name+".yaml"), o)
		})
	}
}
