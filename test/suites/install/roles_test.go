package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

// dnszones defines a kind of an external type.
const dnszones = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dnszones.types.fettle.dev}
spec:
  group: types.fettle.dev
  scope: Cluster
  names: {kind: DNSZone, plural: dnszones}
  versions:
    - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

func TestRolesGrantWhatTheirNamesSay(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.must("apply", "-k", manifests)
	crd := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(crd, []byte(dnszones), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("apply", "-f", crd)
	c.must("wait", "--for=condition=Established", "crd/dnszones.types.fettle.dev", "--timeout="+patient.Limit.String())
	requests := []string{
		"get files.fettle.dev", "watch nodecatalogs.fettle.dev", "list catalogs.fettle.dev", "list nodes",
		"create files.fettle.dev", "delete execs.fettle.dev", "deletecollection users.fettle.dev", "patch files.fettle.dev/status",
		"list dnszones.types.fettle.dev", "create dnszones.types.fettle.dev", "create externaltypes.fettle.dev", "deletecollection dnszones.types.fettle.dev",
		"patch nodecatalogs.fettle.dev/status", "create catalogs.fettle.dev", "get secrets",
		"patch fleets.fettle.dev", "patch nodecatalogs.fettle.dev", "create nodecatalogs.fettle.dev", "delete fleets.fettle.dev", "patch fleets.fettle.dev/status",
	}
	for role, want := range map[string][]string{
		"fettle-viewer":  {requests[0], requests[1], requests[2], requests[8]},
		"fettle-planner": {requests[0], requests[1], requests[2], requests[3], requests[8]},
		"fettle-editor":  {requests[0], requests[1], requests[2], requests[4], requests[5], requests[8], requests[9], requests[10], requests[15], requests[16]},
		"fettle-admin":   {requests[0], requests[1], requests[2], requests[4], requests[5], requests[6], requests[8], requests[9], requests[10], requests[11], requests[15], requests[16]},
	} {
		c.must("create", "clusterrolebinding", "test-"+role, "--clusterrole="+role, "--user="+role)
		var got []string
		for _, r := range requests {
			verb, kind, _ := strings.Cut(r, " ")
			kind, sub, _ := strings.Cut(kind, "/")
			if code, _ := c.kubectl("auth", "can-i", verb, kind, "--subresource="+sub, "--as="+role, "--all-namespaces"); code == 0 {
				got = append(got, r)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s may (-want +got):\n%s", role, diff)
		}
	}
}
