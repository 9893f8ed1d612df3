//go:build e2e

package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// agentOn returns the name of the agent's pod on a node.
func agentOn(ctx context.Context, name string) string {
	GinkgoHelper()
	return kubectl(ctx, "-n", "fettle-nodes", "get", "pods", "-l", "app.kubernetes.io/component=nodeagent", "--field-selector", "spec.nodeName="+name, "-o", "jsonpath={.items[0].metadata.name}")
}

var _ = Describe("An installation", Label("install"), func() {
	It("applied again changes nothing", func(ctx SpecContext) {
		dir := overlay()
		for line := range strings.Lines(kubectl(ctx, "apply", "-k", dir)) {
			// kubectl patches a PodDisruptionBudget with what it is each time.
			Expect(strings.TrimSpace(line)).To(Or(HaveSuffix("unchanged"), HavePrefix("poddisruptionbudget")))
		}
		Expect(kubectl(ctx, "diff", "-k", dir)).To(BeEmpty())
		kubectl(ctx, "apply", "--server-side", "--dry-run=server", "-k", dir)
	}, NodeTimeout(2*soon))

	It("gives the agent a token that is valid for an hour", func(ctx SpecContext) {
		token := on(ctx, node, "cat /proc/$(pgrep -x nodeagent)/root/var/run/secrets/kubernetes.io/serviceaccount/token")
		parts := strings.Split(token, ".")
		Expect(parts).To(HaveLen(3))
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		Expect(err).NotTo(HaveOccurred())
		var times struct{ Iat, Exp int64 }
		Expect(json.Unmarshal(claims, &times)).To(Succeed())
		Expect(time.Duration(times.Exp-times.Iat) * time.Second).To(BeNumerically("<=", time.Hour+time.Minute))
	}, NodeTimeout(soon))

	It("stops an update of the agents at the first bad node", func(ctx SpecContext) {
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
		Consistently(available).WithTimeout(soon).WithPolling(time.Second).WithContext(ctx).Should(Equal("2 of 3, 1 updated"))
	}, NodeTimeout(4*soon))

	It("has a command in the agent's pod that acts on the host", func(ctx SpecContext) {
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

	// It is the last one, because it removes what all others use, and installs it again.
	It("is uninstalled without an order, and leaves hosts as they are", Serial, func(ctx SpecContext) {
		Expect(c.Apply(ctx, file("e2e-left", "/etc/e2e-left", "left\n", "deletionPolicy: Delete"))).To(Succeed())
		ready(ctx, "file/e2e-left")
		dir := overlay()
		kubectl(ctx, "delete", "--ignore-not-found", "--timeout=2m", "-k", dir)
		Expect(kubectl(ctx, "get", "customresourcedefinitions", "-o", "name")).NotTo(ContainSubstring("fettle.dev"))
		Expect(on(ctx, node, "cat /etc/e2e-left")).To(Equal("left\n"))
		kubectl(ctx, "apply", "-k", dir)
		rollout(ctx)
		apply(ctx, file("e2e-again", "/etc/e2e-again", "again\n"))
		ready(ctx, "file/e2e-again")
	}, NodeTimeout(8*soon))
})

var _ = Describe("A release", Label("install"), func() {
	It("has small images", func() {
		archives, err := filepath.Glob(filepath.Join(checkout, "dist/images/*-amd64.tar"))
		Expect(err).NotTo(HaveOccurred())
		for _, path := range archives {
			info, err := os.Stat(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Size()).To(BeNumerically("<", 30<<20), path)
		}
	})
})
