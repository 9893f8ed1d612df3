//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("An outage", Label("outage"), func() {
	It("of the API server does not stop agents from correcting drift", func(ctx SpecContext) {
		apply(ctx, file("e2e-outage", "/etc/e2e-outage", "desired\n"))
		ready(ctx, "file/e2e-outage")
		before := restarts(ctx, "fettle-nodes")
		c.ControlPlane.APIServer.Kill()
		DeferCleanup(func(ctx SpecContext) { startAPIServer(ctx) }, NodeTimeout(2*soon))
		on(ctx, node, "echo changed > /etc/e2e-outage")
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-outage") }).WithContext(ctx).Should(Equal("desired\n"))
		time.Sleep(2 * time.Minute) // the outage itself
		startAPIServer(ctx)
		kubectl(ctx, "patch", "file", "e2e-outage", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-outage") }).WithTimeout(3 * time.Minute).WithContext(ctx).Should(Equal("after\n"))
		Expect(restarts(ctx, "fettle-nodes")).To(Equal(before), "agents survive an outage")
	}, NodeTimeout(8*soon))

	It("of a leader ends when the standby takes over", func(ctx SpecContext) {
		apply(ctx, file("e2e-failover", "/etc/e2e-failover", "before\n"))
		ready(ctx, "file/e2e-failover")
		holder := func() string {
			id := kubectl(ctx, "-n", "fettle-system", "get", "lease", "fettle-manager", "-o", "jsonpath={.spec.holderIdentity}")
			pod, _, _ := strings.Cut(id, "_")
			return pod
		}
		leader := holder()
		kubectl(ctx, "-n", "fettle-system", "delete", "pod", leader, "--grace-period=0", "--force")
		Eventually(holder).WithContext(ctx).ShouldNot(Or(Equal(leader), BeEmpty()))
		kubectl(ctx, "patch", "file", "e2e-failover", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-failover") }).WithContext(ctx).Should(Equal("after\n"))
	}, NodeTimeout(5*soon))

	It("of an agent does not run an Exec twice", func(ctx SpecContext) {
		apply(ctx, `{apiVersion: fettle.dev/v1alpha1, kind: Exec, metadata: {name: e2e-slow}, spec: {nodeSelector: {matchLabels: {kubernetes.io/hostname: node-1}}, command: "/bin/sh -c 'sleep 20; echo ran >> /var/e2e-ran'", creates: [/var/e2e-ran]}}`)
		Eventually(func() string { return on(ctx, node, "pgrep -f '^sleep 20$' || true") }).WithContext(ctx).ShouldNot(BeEmpty())
		killAgent(ctx, node, syscall.SIGKILL)
		ready(ctx, "exec/e2e-slow")
		Expect(on(ctx, node, "cat /var/e2e-ran")).To(Equal("ran\n"))
	}, NodeTimeout(4*soon))
})

// startAPIServer starts the API server unless it runs, and waits until it is ready.
func startAPIServer(ctx context.Context) {
	GinkgoHelper()
	select {
	case <-c.ControlPlane.APIServer.Ended():
		Expect(c.ControlPlane.APIServer.Start()).To(Succeed())
	default:
	}
	Expect(c.WaitReady(ctx)).To(Succeed())
}

// restarts returns how often each container of a namespace was restarted.
func restarts(ctx context.Context, namespace string) string {
	GinkgoHelper()
	return kubectl(ctx, "-n", namespace, "get", "pods", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.containerStatuses[*].restartCount} {end}")
}

// killAgent sends a signal to the agent on a node.
func killAgent(ctx context.Context, name string, signal syscall.Signal) {
	GinkgoHelper()
	on(ctx, name, fmt.Sprintf("pkill -%d -x nodeagent", signal))
}
