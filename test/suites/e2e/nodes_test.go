//go:build e2e

package e2e_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A node", Label("nodes"), func() {
	const name = "node-3"

	It("is brought up to date after a power cut", func(ctx SpecContext) {
		apply(ctx, file("e2e-reboot", "/etc/e2e-reboot", "before\n"))
		ready(ctx, "file/e2e-reboot")
		machine(name).PowerOff()
		kubectl(ctx, "patch", "file", "e2e-reboot", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-reboot") }).WithContext(ctx).Should(Equal("after\n"))
		Expect(machine(name).PowerOn(ctx)).To(Succeed())
		Eventually(func() string { return on(ctx, name, "cat /etc/e2e-reboot") }).WithTimeout(2 * soon).WithContext(ctx).Should(Equal("after\n"))
		ready(ctx, "file/e2e-reboot")
	}, NodeTimeout(6*soon))

	It("that is cut off shows as unknown, and catches up", func(ctx SpecContext) {
		apply(ctx, file("e2e-lost", "/etc/e2e-lost", "before\n"))
		ready(ctx, "file/e2e-lost")
		Expect(machine(name).Disconnect(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(machine(name).Connect(ctx)).To(Succeed()) }, NodeTimeout(soon))
		kubectl(ctx, "patch", "file", "e2e-lost", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		on(ctx, name, "echo changed > /etc/e2e-lost")
		Eventually(func() string { return on(ctx, name, "cat /etc/e2e-lost") }).WithContext(ctx).Should(Equal("before\n"), "it corrects drift by itself")
		Expect(machine(name).Connect(ctx)).To(Succeed())
		Eventually(func() string { return on(ctx, name, "cat /etc/e2e-lost") }).WithTimeout(3 * soon).WithContext(ctx).Should(Equal("after\n"))
	}, NodeTimeout(8*soon))

	It("that is deleted and registers again keeps its state", func(ctx SpecContext) {
		apply(ctx, file("e2e-deleted-node", "/etc/e2e-deleted-node", "here\n"))
		ready(ctx, "file/e2e-deleted-node")
		on(ctx, name, "systemctl stop kubelet")
		kubectl(ctx, "delete", "node", name)
		Eventually(func() string { return kubectl(ctx, "get", "nodecatalogs", "-o", "name") }).WithContext(ctx).ShouldNot(ContainSubstring(name))
		on(ctx, name, "systemctl start kubelet")
		kubectl(ctx, "wait", "--for=create", "--timeout=1m", "node/"+name)
		Eventually(func() string { return kubectl(ctx, "get", "nodecatalogs", "-o", "name") }).WithContext(ctx).Should(ContainSubstring(name))
		ready(ctx, "nodecatalog/"+name)
		Expect(on(ctx, name, "cat /etc/e2e-deleted-node")).To(Equal("here\n"))
	}, NodeTimeout(6*soon))
})
