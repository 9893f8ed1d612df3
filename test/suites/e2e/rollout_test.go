//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// soaks is how long a rollout over the nodes of the cluster may take: some soaks, on a very busy machine.
const soaks = 4 * soon

// rolloutPolicy returns a RolloutPolicy for nodes with a label, or for all nodes for "". More are further lines of its spec.
func rolloutPolicy(name, label string, more ...string) string {
	selector := "{}"
	if label != "" {
		selector = "{matchLabels: {" + label + "}}"
	}
	lines := []string{
		"apiVersion: fettle.dev/v1alpha1", "kind: RolloutPolicy", "metadata: {name: " + name + "}", "spec:",
		"  nodeSelector: " + selector, "  soak: 90s", "  maxInFlight: 100%",
	}
	for _, m := range more {
		lines = append(lines, "  "+m)
	}
	return strings.Join(lines, "\n") + "\n"
}

// contents returns what a file has on each node, as "bad good good".
func contents(ctx context.Context, path string) string {
	GinkgoHelper()
	var all []string
	for _, n := range c.Nodes() {
		all = append(all, strings.TrimSpace(on(ctx, n.Name, "cat "+path+" || echo none")))
	}
	return strings.Join(all, " ")
}

// contentOf patches the content of a File.
func contentOf(ctx context.Context, name, content string) {
	GinkgoHelper()
	kubectl(ctx, "patch", "file", name, "--type=merge", fmt.Sprintf(`--patch={"spec":{"content":%q}}`, content))
}

// conditionReady returns status and reason of the condition Ready of an object, as "False Paused".
func conditionReady(ctx context.Context, object string) func() string {
	return func() string {
		return kubectl(ctx, "get", object, "-o", `jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.reason}{end}`)
	}
}

// pluginCommand builds the plugin, and returns a function that runs it and returns what it prints.
func pluginCommand(ctx context.Context) func(args ...string) string {
	GinkgoHelper()
	program := buildProgram(ctx, "kubectl-fettle")
	return func(args ...string) string {
		GinkgoHelper()
		out, err := withKubeconfig(ctx, program, args...).Output()
		Expect(err).NotTo(HaveOccurred())
		return string(out)
	}
}

var _ = Describe("A rollout", Label("rollout"), func() {
	It("stops at the first node that a bad file breaks, and its fix reaches that node first and then all others", func(ctx SpecContext) {
		fettle := pluginCommand(ctx)
		apply(ctx, file("e2e-rollout", "/etc/e2e-rollout", "first", `validateCmd: "grep -v bad %"`, "deletionPolicy: Delete"))
		ready(ctx, "file/e2e-rollout")
		apply(ctx, rolloutPolicy("e2e", ""))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e")).WithContext(ctx).Should(Equal("True RolledOut"))
		Expect(contents(ctx, "/etc/e2e-rollout")).To(Equal("first first first"))

		contentOf(ctx, "e2e-rollout", "bad")
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e")).WithTimeout(soaks).WithContext(ctx).Should(Equal("False RolloutHalted"))
		Expect(conditionReady(ctx, "file/e2e-rollout")()).To(Equal("False RolloutHalted"))
		broken := kubectl(ctx, "get", "rolloutpolicy", "e2e", "-o", "jsonpath={.status.failures[*].node}")
		Expect(broken).To(HavePrefix("node-"))
		Expect(strings.Fields(broken)).To(HaveLen(1))
		Expect(kubectl(ctx, "get", "nodecatalogs", "-o", `jsonpath={.items[?(@.status.counts.failed>0)].metadata.name}`)).To(Equal(broken))
		Expect(fettle("rollout", "status", "e2e")).To(ContainSubstring(broken))

		contentOf(ctx, "e2e-rollout", "fixed")
		fixed := func() []string {
			var nodes []string
			for _, n := range c.Nodes() {
				if on(ctx, n.Name, "cat /etc/e2e-rollout") == "fixed" {
					nodes = append(nodes, n.Name)
				}
			}
			return nodes
		}
		Eventually(fixed).WithContext(ctx).Should(Equal([]string{broken}))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e")).WithTimeout(soaks).WithContext(ctx).Should(Equal("True RolledOut"))
		Expect(contents(ctx, "/etc/e2e-rollout")).To(Equal("fixed fixed fixed"))
		Eventually(conditionReady(ctx, "file/e2e-rollout")).WithContext(ctx).Should(Equal("True InSync"))
	}, NodeTimeout(3*soaks))

	It("passes staging before production, pauses, and goes back, while the manager is replaced", func(ctx SpecContext) {
		fettle := pluginCommand(ctx)
		kubectl(ctx, "label", "node", "node-1", "ring=staging")
		kubectl(ctx, "label", "node", "node-2", "node-3", "ring=production")
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "label", "nodes", "--all", "ring-") }, NodeTimeout(soon))
		apply(ctx, file("e2e-rings", "/etc/e2e-rings", "first", "deletionPolicy: Delete"))
		ready(ctx, "file/e2e-rings")
		apply(ctx, rolloutPolicy("e2e-staging", "ring: staging"))
		apply(ctx, rolloutPolicy("e2e-production", "ring: production", "after: [e2e-staging]"))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithContext(ctx).Should(Equal("True RolledOut"))
		stable := kubectl(ctx, "get", "rolloutpolicy", "e2e-production", "-o", "jsonpath={.status.stable}")

		contentOf(ctx, "e2e-rings", "second")
		Eventually(func() string { return contents(ctx, "/etc/e2e-rings") }).WithContext(ctx).Should(Equal("second first first"))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithContext(ctx).Should(Equal("False WaitingForPolicy"))
		Expect(fettle("why", "file/e2e-rings")).To(ContainSubstring("e2e-staging"))
		kubectl(ctx, "-n", "fettle-system", "rollout", "restart", "deployment/fettle-manager")
		kubectl(ctx, "-n", "fettle-system", "rollout", "status", "deployment/fettle-manager", "--timeout=3m")
		Expect(contents(ctx, "/etc/e2e-rings")).To(Equal("second first first"))
		fettle("rollout", "pause", "e2e-production")
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-staging")).WithTimeout(soaks).WithContext(ctx).Should(Equal("True RolledOut"))
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithContext(ctx).Should(Equal("False Paused"))
		Consistently(func() string { return contents(ctx, "/etc/e2e-rings") }).WithTimeout(20 * time.Second).WithContext(ctx).Should(Equal("second first first"))
		fettle("rollout", "resume", "e2e-production")
		Eventually(conditionReady(ctx, "rolloutpolicy/e2e-production")).WithTimeout(soaks).WithContext(ctx).Should(Equal("True RolledOut"))
		Expect(contents(ctx, "/etc/e2e-rings")).To(Equal("second second second"))

		fettle("rollout", "undo", "e2e-production", "--to", stable)
		Eventually(func() string { return contents(ctx, "/etc/e2e-rings") }).WithTimeout(soaks).WithContext(ctx).Should(Equal("second first first"))
	}, NodeTimeout(4*soaks))
})
