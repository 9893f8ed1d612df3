package install_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const chart = root + "/charts/fettle"

// helmPath builds the pinned Helm, or takes it from Go's cache.
var helmPath = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "-C", root+"/hack/helm", "tool", "-n", "helm")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// helm returns the exit code and the output of Helm.
func helm(t *testing.T, kubeconfig string, args ...string) (int, string) {
	t.Helper()
	path, err := helmPath()
	if err != nil {
		t.Fatalf("cannot build helm: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// mustHelm is helm for commands that should succeed.
func mustHelm(t *testing.T, kubeconfig string, args ...string) string {
	t.Helper()
	code, out := helm(t, kubeconfig, args...)
	if code != 0 {
		t.Fatalf("helm %q exited with %d:\n%s", args, code, out)
	}
	return out
}

// objects returns the objects of a stream of documents, by their ids.
func objects(t *testing.T, stream string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, text := range separator.Split(stream, -1) {
		id := document{text: text}.id()
		if id == " /" { // only a comment
			continue
		}
		if all[id] != nil {
			t.Errorf("%s is there twice", id)
		}
		all[id] = decode(t, text)
	}
	return all
}

func TestAllInstallationsHaveTheSameObjects(t *testing.T) {
	t.Parallel()
	var c cluster
	c.t = t
	want := objects(t, c.must("kustomize", manifests))

	cmd := exec.CommandContext(t.Context(), "go", "run", "./hack/installyaml")
	cmd.Dir = root
	single, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, objects(t, string(single))); diff != "" {
		t.Errorf("install.yaml (-kustomize +install.yaml):\n%s", diff)
	}

	kept := "\n    helm.sh/resource-policy: keep"
	rendered := strings.ReplaceAll(mustHelm(t, "", "template", "--kube-version=1.36.0", "fettle", chart, "--skip-tests"), kept, "")
	if diff := cmp.Diff(want, objects(t, rendered)); diff != "" {
		t.Errorf("the chart with its default values (-kustomize +chart):\n%s", diff)
	}
	rendered = strings.ReplaceAll(mustHelm(t, "", "template", "--kube-version=1.36.0", "fettle", chart, "--skip-tests", "--namespace=fettle-system"), kept, "")
	delete(want, "Namespace /fettle-system") // Helm creates it
	if diff := cmp.Diff(want, objects(t, rendered)); diff != "" {
		t.Errorf("the chart in the namespace of the manager (-kustomize +chart):\n%s", diff)
	}
}

func TestKustomizeAndInstallYAMLSetImages(t *testing.T) {
	t.Parallel()
	dir := overlay(t, `images:
  - {name: fettle-manager, newName: registry.example/fettle-manager, newTag: v1.2.3}
  - {name: fettle-nodeagent, newName: registry.example/fettle-nodeagent, newTag: v1.2.3}`)
	cmd := exec.CommandContext(t.Context(), "go", "run", "./hack/installyaml", "-manager=registry.example/fettle-manager:v1.2.3", "-agent=registry.example/fettle-nodeagent:v1.2.3")
	cmd.Dir = root
	single, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(objects(t, cluster{t: t}.must("kustomize", dir)), objects(t, string(single))); diff != "" {
		t.Errorf("-kustomize +install.yaml:\n%s", diff)
	}
	if n := strings.Count(string(single), "image: registry.example/"); n != 2 {
		t.Errorf("install.yaml names %d images of the registry", n)
	}
}

func TestChartAndComponentHaveTheSameMonitors(t *testing.T) {
	t.Parallel()
	dir := overlay(t, "components: [CONFIG/prometheus]")
	want := objects(t, cluster{t: t}.must("kustomize", dir))
	for _, name := range []string{
		"PodMonitor fettle-nodes/fettle-nodeagent", "ServiceMonitor fettle-system/fettle-manager", "PrometheusRule fettle-system/fettle", "ConfigMap fettle-system/fettle-dashboard",
	} {
		if want[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	rendered := mustHelm(t, "", "template", "--kube-version=1.36.0", "fettle", chart, "--skip-tests", "--set", "metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true")
	if diff := cmp.Diff(want, objects(t, strings.ReplaceAll(rendered, "\n    helm.sh/resource-policy: keep", ""))); diff != "" {
		t.Errorf("-kustomize +chart:\n%s", diff)
	}
}

func TestChartAndComponentWriteOpenReports(t *testing.T) {
	t.Parallel()
	dir := overlay(t, "components: [CONFIG/openreports]")
	rendered := cluster{t: t}.must("kustomize", dir)
	if !strings.Contains(rendered, "- --open-reports\n") {
		t.Errorf("the manager lacks the flag:\n%s", rendered)
	}
	out := mustHelm(t, "", "template", "--kube-version=1.36.0", "fettle", chart, "--skip-tests", "--set", "openReports.enabled=true")
	if diff := cmp.Diff(objects(t, rendered), objects(t, strings.ReplaceAll(out, "\n    helm.sh/resource-policy: keep", ""))); diff != "" {
		t.Errorf("-kustomize +chart:\n%s", diff)
	}
}

func TestChartAndKustomizeServeReports(t *testing.T) {
	t.Parallel()
	want := objects(t, cluster{t: t}.must("kustomize", overlay(t, "  - CONFIG/reports")))
	if want["APIService /v1alpha1.reports.fettle.dev"] == nil {
		t.Error("the API is missing")
	}
	out := mustHelm(t, "", "template", "--kube-version=1.36.0", "fettle", chart, "--skip-tests", "--set", "reportsAPI.enabled=true")
	if diff := cmp.Diff(want, objects(t, strings.ReplaceAll(out, "\n    helm.sh/resource-policy: keep", ""))); diff != "" {
		t.Errorf("-kustomize +chart:\n%s", diff)
	}
}

func TestChartRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ value, want string }{
		"a misspelt value":       {"manager.replica=3", "'replica' not allowed"},
		"no managers":            {"manager.replicas=0", "/manager/replicas"},
		"a percentage above all": {"agent.maxUnavailable=200%", "/agent/maxUnavailable"},
		"a tag with a space":     {"manager.image.tag=a b", "/manager/image/tag"},
		"a word as a flag":       {"agent.args={noop}", "/agent/args/0"},
	} {
		if code, out := helm(t, "", "template", "--kube-version=1.36.0", "fettle", chart, "--set", tt.value); code == 0 || !strings.Contains(out, tt.want) {
			t.Errorf("%s: helm exited with %d:\n%s", name, code, out)
		}
	}
}

func TestChartRendersValues(t *testing.T) {
	t.Parallel()
	out := mustHelm(t, "", "template", "--kube-version=1.36.0", "fettle", chart, "--set", "manager.image.digest=sha256:"+strings.Repeat("a", 64), "--set", "agent.image.tag=v9", "--set", "agent.maxUnavailable=5%",
		"--set", "agent.args={--interval=30m}", "--set", "agent.env[0].name=HTTPS_PROXY,agent.env[0].value=http://proxy:3128", "--set", "imagePullSecrets[0].name=registry", "--set", "crds.install=false", "--set", "rolloutPolicy.enabled=false")
	for _, want := range []string{
		`image: "fettle-manager@sha256:aaaa`, `image: "fettle-nodeagent:v9"`, `maxUnavailable: "5%"`, `, "--interval=30m"]`, `"name":"HTTPS_PROXY"`, `imagePullSecrets: [{"name":"registry"}]`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, unwanted := range []string{"kind: CustomResourceDefinition", "--default-rollout-policy"} {
		if strings.Contains(out, unwanted) {
			t.Errorf("%s is there", unwanted)
		}
	}
}

func TestChartInstallsUpgradesTestsAndUninstalls(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	old := filepath.Join(t.TempDir(), "fettle")
	if err := os.CopyFS(old, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(old, "templates/generated/crd/fettle.dev_users.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "shortNames:", "shortNames:\n    - oldname", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	release := []string{"fettle", "--namespace=fettle-system"}
	names := func() string {
		return c.must("get", "crd", "users.fettle.dev", "-o", "jsonpath={.spec.names.shortNames}")
	}

	mustHelm(t, c.kubeconfig, append([]string{"install", "--create-namespace"}, append(release, old)...)...)
	if !strings.Contains(names(), "oldname") {
		t.Fatalf("the old CRD has %s", names())
	}
	c.must("wait", "--for=condition=Established", "--timeout="+patient.Limit.String(), "crd", "--all")
	c.must("apply", "-f", root+"/config/samples/group.yaml")
	mustHelm(t, c.kubeconfig, append([]string{"upgrade"}, append(release, chart, "--set", "agent.maxUnavailable=5%,reportsAPI.enabled=true")...)...) // no manager serves it
	if strings.Contains(names(), "oldname") {
		t.Error("the CRD was not upgraded")
	}
	if got := c.must("get", "daemonset", "-n", "fettle-nodes", "fettle-nodeagent", "-o", "jsonpath={.spec.updateStrategy.rollingUpdate.maxUnavailable}"); got != "5%" {
		t.Errorf("maxUnavailable is %s", got)
	}
	c.runTestPods(release)
	if got := c.must("get", "apiservice", "v1alpha1.reports.fettle.dev", "-o", "jsonpath={.spec.service.name}"); !strings.Contains(got, "fettle-reports") {
		t.Errorf("the API of reports has the service %s", got)
	}
	mustHelm(t, c.kubeconfig, append([]string{"uninstall"}, release...)...)
	if got := c.must("get", "groups.fettle.dev", "-o", "name"); got != "group.fettle.dev/web\n" {
		t.Errorf("after the uninstallation there is %q", got)
	}
	if got := c.must("get", "daemonsets,deployments,validatingadmissionpolicies,clusterroles,rolebindings", "-A", "-o", "name"); strings.Contains(got, "fettle") {
		t.Errorf("the uninstallation left %s", got)
	}
	if _, got := c.kubectl("get", "apiservice", "v1alpha1.reports.fettle.dev"); !strings.Contains(got, "NotFound") {
		t.Errorf("the uninstallation left %s", got)
	}
}

// runTestPods runs helm test, and reports the end of its pods like a kubelet.
func (c cluster) runTestPods(release []string) {
	c.t.Helper()
	ended := make(chan string, 1)
	go func() {
		code, out := helm(c.t, c.kubeconfig, append([]string{"test", "--timeout=" + patient.Limit.String()}, release...)...)
		if code == 0 {
			out = ""
		}
		ended <- out
	}()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case out := <-ended:
			if out != "" {
				c.t.Errorf("helm test:\n%s", out)
			}
			return
		case <-ticker.C:
			for pod, namespace := range map[string]string{"fettle-test-manager": "fettle-system", "fettle-test-agent": "fettle-nodes"} {
				c.kubectl("patch", "pod", pod, "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status": {"phase": "Succeeded"}}`)
			}
		}
	}
}
