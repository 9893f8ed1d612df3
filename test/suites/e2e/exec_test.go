//go:build e2e

package e2e_test

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("An Exec", Label("exec"), func() {
	It("that outlives its agents runs once, and drift is corrected meanwhile", Label("finding-7"), func(ctx SpecContext) {
		apply(ctx, file("e2e-meanwhile", "/etc/e2e-meanwhile", "desired\n"))
		ready(ctx, "file/e2e-meanwhile")
		DeferCleanup(func(ctx SpecContext) { on(ctx, node, "touch /var/e2e-go; sleep 1; rm -f /var/e2e-*") }, NodeTimeout(soon))
		apply(ctx, `{apiVersion: fettle.dev/v1alpha1, kind: Exec, metadata: {name: e2e-slow}, spec: {nodeSelector: {matchLabels: {kubernetes.io/hostname: node-1}},
			shell: true, command: "echo started >> /var/e2e-started; until [ -e /var/e2e-go ]; do sleep 0.2; done; echo done >> /var/e2e-done", creates: [/var/e2e-done]}}`)
		runs := func() string { return on(ctx, node, "cat /var/e2e-started || true") }
		Eventually(runs).WithContext(ctx).Should(Equal("started\n"))
		drift(ctx, node, "/etc/e2e-meanwhile", "desired\n")

		By("killing the agent")
		killAgent(ctx, node, syscall.SIGKILL)
		Eventually(func() string { return on(ctx, node, "pgrep -x nodeagent || true") }).WithContext(ctx).ShouldNot(BeEmpty())
		drift(ctx, node, "/etc/e2e-meanwhile", "desired\n")

		By("deleting its pod, with less time than the Exec takes")
		kubectl(ctx, "-n", "fettle-nodes", "delete", "pod", agentOn(ctx, node), "--grace-period=2")
		Eventually(func() string { return on(ctx, node, "pgrep -x nodeagent || true") }).WithContext(ctx).ShouldNot(BeEmpty())
		drift(ctx, node, "/etc/e2e-meanwhile", "desired\n")
		Expect(on(ctx, node, "cat /var/e2e-done || true")).To(BeEmpty(), "it still runs")

		on(ctx, node, "touch /var/e2e-go")
		ready(ctx, "exec/e2e-slow")
		Expect(runs()).To(Equal("started\n"))
		Expect(on(ctx, node, "cat /var/e2e-done")).To(Equal("done\n"))
	}, NodeTimeout(6*soon))
})
