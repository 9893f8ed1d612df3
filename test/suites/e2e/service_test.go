//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// kubectlFettle runs kubectl fettle of this checkout, as administrator, and returns its standard output.
func kubectlFettle(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := withKubeconfig(ctx, buildProgram(ctx, "kubectl-fettle"), args...).Output()
	Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// buildProgram builds a program of this checkout for the spec.
func buildProgram(ctx context.Context, name string) string {
	GinkgoHelper()
	program := filepath.Join(GinkgoT().TempDir(), name)
	run(ctx, "go", "build", "-o", program, "./cmd/"+name)
	return program
}

// withKubeconfig returns a command that an administrator of the cluster runs.
func withKubeconfig(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
	cmd.Stderr = GinkgoWriter
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// inPod runs fettle in the pod of the agent on a node.
func inPod(ctx context.Context, name, input string, args ...string) string {
	GinkgoHelper()
	out, err := c.KubectlWith(ctx, input, append([]string{"-n", "fettle-nodes", "exec", "-i", agentOn(ctx, name), "--", "/fettle"}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// installService installs the agent as a service of a node until the end of the spec, beside its pod, and makes it the one that
// acts.
func installService(ctx context.Context, name string) {
	GinkgoHelper()
	inPod(ctx, name, kubectlFettle(ctx, "agent", "token", "--node", name, "--server", c.Server()), "agent", "install", "--kubeconfig", "-")
	DeferCleanup(func(ctx SpecContext) {
		rollout(ctx)
		// After a reboot the old status of the pod shows a while, as ready, although its container is started again.
		Eventually(func() error {
			_, err := c.Kubectl(ctx, "-n", "fettle-nodes", "exec", agentOn(ctx, name), "--", "/fettle", "agent", "uninstall")
			return err
		}).WithContext(ctx).Should(Succeed())
		kubectl(ctx, "annotate", "namespace", "fettle-nodes", "fettle.dev/token-audience-")
	}, NodeTimeout(5*soon))
	restartAgent(ctx, name)
	Expect(inPod(ctx, name, "", "agent", "status")).To(ContainSubstring("service, process"))
}

// restartAgent replaces the pod of the agent on a node, and waits until the new one is ready.
func restartAgent(ctx context.Context, name string, flags ...string) {
	GinkgoHelper()
	pods := func() []string {
		return strings.Fields(kubectl(ctx, "-n", "fettle-nodes", "get", "pods", "-l", "app.kubernetes.io/component=nodeagent", "--field-selector", "spec.nodeName="+name, "-o", "jsonpath={.items[*].metadata.name}"))
	}
	old := pods()
	Expect(old).To(HaveLen(1))
	kubectl(ctx, append([]string{"-n", "fettle-nodes", "delete", "pod", old[0]}, flags...)...)
	Eventually(pods).WithContext(ctx).Should(And(HaveLen(1), Not(Equal(old))))
	kubectl(ctx, "-n", "fettle-nodes", "wait", "--for=condition=Ready", "--timeout=1m", "pod/"+pods()[0])
}
