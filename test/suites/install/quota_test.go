package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

func TestCriticalPodsAreAdmittedWhereTheirPriorityIsRestricted(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(config, []byte(controlplane.RestrictedPriorities), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, map[string]string{"admission-control-config-file": config})
	c.must("apply", "-k", manifests)
	for namespace, class := range map[string]string{"fettle-system": "system-cluster-critical", "fettle-nodes": "system-node-critical"} {
		c.countQuota(namespace)
		if code, out := c.critical(namespace, class); code != 0 {
			t.Errorf("a pod of class %s is not admitted to %s: %s", class, namespace, out)
		}
	}
	if code, out := c.critical("default", "system-node-critical"); code == 0 || !strings.Contains(out, "insufficient quota to match these scopes") {
		t.Errorf("the class is not restricted: %d, %s", code, out)
	}
}

// countQuota reports the use of a quota in its status, like kube-controller-manager.
func (c cluster) countQuota(namespace string) {
	c.t.Helper()
	hard := c.must("get", "resourcequota", "fettle-critical-pods", "-n", namespace, "-o", "jsonpath={.spec.hard}")
	c.must("patch", "resourcequota", "fettle-critical-pods", "-n", namespace, "--subresource=status", "--type=merge",
		"-p", fmt.Sprintf(`{"status": {"hard": %s, "used": {"pods": "0"}}}`, hard))
}

// critical asks the API server to admit a pod of a priority class.
func (c cluster) critical(namespace, class string) (int, string) {
	c.t.Helper()
	return c.kubectl("run", "x", "--image=x", "-n", namespace, "--dry-run=server", "--overrides", fmt.Sprintf(
		`{"spec": {"priorityClassName": %q, "securityContext": {"runAsNonRoot": true, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{"name": "x", "image": "x", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}`, class))
}
