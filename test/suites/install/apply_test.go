// Package install_test applies what users install to a real API server, with the real kubectl.
package install_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

const manifests = "../../../config/default"

// A cluster is a control plane without Fettle.
type cluster struct {
	t          *testing.T
	kubeconfig string
}

func newCluster(t *testing.T, flags map[string]string) cluster {
	t.Helper()
	cfg := controlplane.StartEmpty(t, flags)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(file, cfg, ""); err != nil {
		t.Fatal(err)
	}
	return cluster{t, file}
}

// kubectl returns the exit code and the output of kubectl.
func (c cluster) kubectl(args ...string) (int, string) {
	c.t.Helper()
	assets, err := controlplane.Assets()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(assets, "kubectl"), append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		c.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// must is kubectl for commands that should succeed.
func (c cluster) must(args ...string) string {
	c.t.Helper()
	code, out := c.kubectl(args...)
	if code != 0 {
		c.t.Fatalf("kubectl %q exited with %d:\n%s", args, code, out)
	}
	return out
}

// changed returns the lines of kubectl apply about objects that changed.
func changed(output string) []string {
	var lines []string
	for line := range strings.Lines(output) {
		// Client-side apply replaces the selector of a PodDisruptionBudget by itself in every patch.
		repeated := strings.HasPrefix(line, "poddisruptionbudget.policy/")
		if !repeated && !strings.HasSuffix(line, " unchanged\n") && !strings.HasSuffix(line, " serverside-applied\n") {
			lines = append(lines, line)
		}
	}
	return lines
}

// contents returns what the objects say, without metadata: kubectl changes its own annotations.
func (c cluster) contents(manifests string) string {
	c.t.Helper()
	return c.must("get", "-k", manifests, "-o", "jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {.metadata.uid} {.spec}{.rules}{.roleRef}{.subjects}{'\\n'}{end}")
}

func TestApplyingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.must("apply", "-k", manifests)
	before := c.contents(manifests)
	for _, flags := range [][]string{{"--server-side=false"}, {"--server-side=true"}, {"--server-side=true"}} {
		if lines := changed(c.must(append([]string{"apply", "-k", manifests}, flags...)...)); len(lines) > 0 {
			t.Errorf("kubectl apply %s:\n%s", flags, strings.Join(lines, ""))
		}
		if diff := cmp.Diff(before, c.contents(manifests)); diff != "" {
			t.Errorf("kubectl apply %s changed objects:\n%s", flags, diff)
		}
		if code, out := c.kubectl(append([]string{"diff", "-k", manifests}, flags...)...); code != 0 || out != "" {
			t.Errorf("kubectl diff %s exited with %d:\n%s", flags, code, out)
		}
	}
	c.must("apply", "--server-side", "-k", overlay(t, "images: [{name: fettle-nodeagent, newTag: v2}]"))
	if got := c.must("get", "daemonset", "-n", "fettle-nodes", "fettle-nodeagent", "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "fettle-nodeagent:v2" {
		t.Errorf("after an upgrade with server-side apply, the image is %s", got)
	}
}

// overlay returns a kustomization with config/default as a resource. In lines, CONFIG stands for the folder config.
func overlay(t *testing.T, lines string) string {
	t.Helper()
	dir := t.TempDir()
	config, err := filepath.Abs(root + "/config")
	if err != nil {
		t.Fatal(err)
	}
	if config, err = filepath.Rel(dir, config); err != nil { // kustomize reads no absolute paths
		t.Fatal(err)
	}
	text := strings.ReplaceAll("resources:\n  - CONFIG/default\n"+lines+"\n", "CONFIG", config)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSamplesAndTheDefaultPolicyAreAppliedThroughKustomize(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil)
	c.must("apply", "-k", root+"/config/crd")
	c.must("wait", "--for=condition=Established", "--timeout="+patient.Limit.String(), "crd", "--all")
	for _, dir := range []string{root + "/config/samples", root + "/config/rollout"} {
		c.must("apply", "-k", dir)
		if lines := changed(c.must("apply", "-k", dir)); len(lines) > 0 {
			t.Errorf("applying %s again:\n%s", dir, strings.Join(lines, ""))
		}
	}
}
