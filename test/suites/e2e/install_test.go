//go:build e2e

package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

// agentOn returns the name of the agent's pod on a node.
func agentOn(ctx context.Context, name string) string {
	GinkgoHelper()
	return kubectl(ctx, "-n", "fettle-nodes", "get", "pods", "-l", "app.kubernetes.io/component=nodeagent", "--field-selector", "spec.nodeName="+name, "-o", "jsonpath={.items[0].metadata.name}")
}

var _ = Describe("An installation", Label("install"), func() {
	It("applied again changes nothing", Label("finding-12"), func(ctx SpecContext) {
		for line := range strings.Lines(kubectl(ctx, "apply", "-k", installed.overlay)) {
			// kubectl patches a PodDisruptionBudget with what it is each time.
			Expect(strings.TrimSpace(line)).To(Or(HaveSuffix("unchanged"), HavePrefix("poddisruptionbudget")))
		}
		Expect(kubectl(ctx, "diff", "-k", installed.overlay)).To(BeEmpty())
		kubectl(ctx, "apply", "--server-side", "--dry-run=server", "-k", installed.overlay)
	}, NodeTimeout(2*soon))

	It("gives the agent a token that is valid for an hour", Label("finding-6"), func(ctx SpecContext) {
		token := on(ctx, node, "cat /proc/$(pgrep -x nodeagent)/root/var/run/secrets/kubernetes.io/serviceaccount/token")
		parts := strings.Split(token, ".")
		Expect(parts).To(HaveLen(3))
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		Expect(err).NotTo(HaveOccurred())
		var times struct{ Iat, Exp int64 }
		Expect(json.Unmarshal(claims, &times)).To(Succeed())
		Expect(time.Duration(times.Exp-times.Iat) * time.Second).To(BeNumerically("<=", time.Hour+time.Minute))
	}, NodeTimeout(soon))

	It("stops an update of the agents at the first bad node", Label("finding-1"), func(ctx SpecContext) {
		set := func(ctx context.Context, args string) {
			GinkgoHelper()
			kubectl(ctx, "-n", "fettle-nodes", "patch", "daemonset", "fettle-nodeagent", "--type=json",
				`--patch=[{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": `+args+`}]`)
		}
		args := kubectl(ctx, "-n", "fettle-nodes", "get", "daemonset", "fettle-nodeagent", "-o", "jsonpath={.spec.template.spec.containers[0].args}")
		DeferCleanup(func(ctx SpecContext) {
			set(ctx, args)
			kubectl(ctx, "-n", "fettle-nodes", "rollout", "status", "daemonset/fettle-nodeagent", "--timeout=3m")
		}, NodeTimeout(4*soon))
		set(ctx, `["--unknown-flag"]`)
		available := func() string {
			return kubectl(ctx, "-n", "fettle-nodes", "get", "daemonset", "fettle-nodeagent", "-o", "jsonpath={.status.numberAvailable} of {.status.desiredNumberScheduled}, {.status.updatedNumberScheduled} updated")
		}
		Eventually(available).WithContext(ctx).Should(Equal("2 of 3, 1 updated"))
		Consistently(available).WithTimeout(time.Minute).WithPolling(time.Second).WithContext(ctx).Should(Equal("2 of 3, 1 updated"))
	}, NodeTimeout(4*soon))

	It("has a command in the agent's pod that acts on the host", Label("finding-4"), func(ctx SpecContext) {
		fettle := func(ctx context.Context, args ...string) string {
			GinkgoHelper()
			return kubectl(ctx, append([]string{"-n", "fettle-nodes", "exec", agentOn(ctx, node), "--", "/fettle"}, args...)...)
		}
		on(ctx, node, "touch /etc/e2e-exec")
		Expect(fettle(ctx, "resource", "file", "/etc/e2e-exec")).To(ContainSubstring("path: /etc/e2e-exec"))
		fettle(ctx, "disable", "maintenance")
		DeferCleanup(func(ctx SpecContext) { fettle(ctx, "enable") }, NodeTimeout(soon))
		Eventually(func() string { return kubectl(ctx, "get", "nodecatalog", node, "-o", "yaml") }).WithContext(ctx).Should(ContainSubstring("maintenance"))
		apply(ctx, file("e2e-disabled", "/etc/e2e-disabled", "x"))
		Eventually(func() string { return on(ctx, "node-2", "cat /etc/e2e-disabled || true") }).WithContext(ctx).Should(Equal("x"))
		Expect(on(ctx, node, "cat /etc/e2e-disabled || true")).To(BeEmpty())
		fettle(ctx, "enable")
		ready(ctx, "file/e2e-disabled")
	}, NodeTimeout(4*soon))

	It("has managers on different nodes, of which only one can be evicted at a time", Label("finding-9"), func(ctx SpecContext) {
		managers := strings.Fields(kubectl(ctx, "-n", "fettle-system", "get", "pods", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName} {end}`))
		Expect(managers).To(HaveLen(4), "two names, each with its node")
		DeferCleanup(func(ctx SpecContext) { rollout(ctx) }, NodeTimeout(4*soon))
		evict := func(name string) error {
			eviction := filepath.Join(GinkgoT().TempDir(), name)
			Expect(os.WriteFile(eviction, fmt.Appendf(nil, `{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q}}`, name), 0o600)).To(Succeed())
			_, err := c.Kubectl(ctx, "create", "--raw", "/api/v1/namespaces/fettle-system/pods/"+name+"/eviction", "-f", eviction)
			return err
		}
		Expect(evict(managers[0])).To(Succeed())
		Expect(evict(managers[2])).To(MatchError(ContainSubstring("disruption budget")))
		Expect(managers[1]).NotTo(Equal(managers[3]))
	}, NodeTimeout(2*soon))

	It("runs on a cluster that restricts critical priority classes", Label("finding-5"), func(ctx SpecContext) {
		restart := restartAPIServer(ctx, "--admission-control-config-file="+admission())
		DeferCleanup(func(ctx SpecContext) {
			restart(ctx)
			// Controllers retry rejected pods with exponential backoff, unless the object changes.
			kubectl(ctx, "annotate", "-n", "fettle-nodes", "daemonset/fettle-nodeagent", "e2e=retry")
			kubectl(ctx, "annotate", "-n", "fettle-system", "deployment/fettle-manager", "e2e=retry")
			rollout(ctx)
			kubectl(ctx, "annotate", "-n", "fettle-nodes", "daemonset/fettle-nodeagent", "e2e-")
			kubectl(ctx, "annotate", "-n", "fettle-system", "deployment/fettle-manager", "e2e-")
		}, NodeTimeout(6*soon))
		_, err := c.Kubectl(ctx, "run", "critical", "--image=localhost/none", "--dry-run=server", `--overrides={"spec": {"priorityClassName": "system-node-critical"}}`)
		Expect(err).To(MatchError(ContainSubstring("insufficient quota to match these scopes")))
		kubectl(ctx, "-n", "fettle-system", "delete", "pods", "--all", "--wait=false")
		kubectl(ctx, "-n", "fettle-nodes", "delete", "pods", "--wait=false", agentOn(ctx, node))
		rollout(ctx)
		Expect(agentOn(ctx, node)).NotTo(BeEmpty())
	}, NodeTimeout(6*soon))

	It("is uninstalled without an order, and leaves hosts as they are", Label("finding-3"), func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { restoreInstallation(ctx) }, NodeTimeout(8*soon))
		Expect(c.Apply(ctx, file("e2e-left", "/etc/e2e-left", "left\n", "deletionPolicy: Delete"))).To(Succeed())
		ready(ctx, "file/e2e-left")
		// Managers that notice late find their permissions deleted.
		signalManagers(ctx, syscall.SIGSTOP)
		DeferCleanup(func(ctx SpecContext) { signalManagers(ctx, syscall.SIGCONT) }, NodeTimeout(soon))
		deleted := make(chan error, 1)
		go func() {
			_, err := c.Kubectl(ctx, "delete", "--ignore-not-found", "--timeout=2m", "-k", installed.overlay)
			deleted <- err
		}()
		Eventually(func() string {
			return kubectl(ctx, "-n", "fettle-system", "get", "deployment", "fettle-manager", "--ignore-not-found", "-o", "jsonpath={.metadata.name}")
		}).WithContext(ctx).Should(BeEmpty())
		signalManagers(ctx, syscall.SIGCONT)
		Eventually(deleted).WithTimeout(3 * soon).WithContext(ctx).Should(Receive(Succeed()))
		Expect(kubectl(ctx, "get", "customresourcedefinitions", "-o", "name")).NotTo(ContainSubstring("fettle.dev"))
		Expect(on(ctx, node, "cat /etc/e2e-left")).To(Equal("left\n"))
		installed.install(ctx)
		apply(ctx, file("e2e-again", "/etc/e2e-again", "again\n"))
		ready(ctx, "file/e2e-again")
	}, NodeTimeout(8*soon))
})

// signalManagers sends a signal to all managers.
func signalManagers(ctx context.Context, signal syscall.Signal) {
	GinkgoHelper()
	for _, n := range c.Nodes() {
		on(ctx, n.Name, fmt.Sprintf("pkill -%d -x manager || true", signal))
	}
}

// admission returns the path of a configuration that admits pods of critical priority classes only to namespaces with a
// quota for them.
func admission() string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "admission.yaml")
	Expect(os.WriteFile(path, []byte(controlplane.RestrictedPriorities), 0o644)).To(Succeed())
	return path
}

// restartAPIServer restarts the API server with additional flags, and returns a function that restarts it without them.
func restartAPIServer(ctx context.Context, flags ...string) func(context.Context) {
	GinkgoHelper()
	server := c.ControlPlane.APIServer
	usual := server.Args
	restart := func(ctx context.Context, args []string) {
		GinkgoHelper()
		server.Kill()
		server.Args = args
		startAPIServer(ctx)
	}
	restart(ctx, slices.Concat(usual, flags))
	return func(ctx context.Context) { restart(ctx, usual) }
}

var _ = Describe("A release", Label("install"), func() {
	It("has small images", func() {
		archives, err := filepath.Glob(filepath.Join(checkout, "dist/images/*-amd64.tar"))
		Expect(err).NotTo(HaveOccurred())
		for _, path := range archives {
			info, err := os.Stat(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Size()).To(BeNumerically("<", 32<<20), path)
		}
	})
})
