//go:build e2e

package e2e_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A full disk", Label("disk"), func() {
	const full = "no space left on device"

	It("leaves the old content of a File, and the new one is written once there is space", func(ctx SpecContext) {
		const path = "/srv/e2e-full/file"
		on(ctx, node, "mkdir -p /srv/e2e-full; mount -t tmpfs -o size=64k e2e-full /srv/e2e-full")
		DeferCleanup(func(ctx SpecContext) { // an agent that has yet to learn that the File is deleted corrects it at once
			on(ctx, node, "umount --lazy /srv/e2e-full; until rm -rf /srv/e2e-full; do sleep 0.1; done")
		}, NodeTimeout(soon))
		before, after := strings.Repeat("before\n", 5000), strings.Repeat("after!\n", 6000)
		onNode := func(content string) string {
			return strings.ReplaceAll(file("e2e-full", path, content), "nodeSelector: {}", "nodeSelector: {matchLabels: {kubernetes.io/hostname: "+node+"}}")
		}
		apply(ctx, onNode(before))
		ready(ctx, "file/e2e-full")
		Expect(c.Apply(ctx, onNode(after))).To(Succeed())
		Eventually(condition(ctx, "file/e2e-full", "Ready")).WithContext(ctx).Should(ContainSubstring(full))
		Expect(on(ctx, node, "ls -A /srv/e2e-full; cat "+path)).To(Equal("file\n"+before), "nothing else is left behind")
		on(ctx, node, "mount -o remount,size=1m /srv/e2e-full")
		nudge(ctx, "file/e2e-full")
		ready(ctx, "file/e2e-full")
		Expect(on(ctx, node, "cat "+path)).To(Equal(after))
	}, NodeTimeout(4*soon))

	It("under the agent's state is reported, and the agent recovers once there is space", func(ctx SpecContext) {
		// The agent's own directory is copied to a small disk, and back in the end.
		on(ctx, node, `
mkdir -p /run/e2e-state; mount --bind /var/lib/fettle /run/e2e-state; mount --make-private /run/e2e-state
mount -t tmpfs -o size=8m,mode=0700 e2e-state /var/lib/fettle; cp -a /run/e2e-state/. /var/lib/fettle/`)
		DeferCleanup(func(ctx SpecContext) {
			on(ctx, node, "rm -f /var/lib/fettle/filler; rm -rf /run/e2e-state/*; cp -a /var/lib/fettle/. /run/e2e-state/; umount --lazy /var/lib/fettle; umount /run/e2e-state; rmdir /run/e2e-state")
			restartAgent(ctx, node)
		}, NodeTimeout(4*soon))
		restartAgent(ctx, node)
		apply(ctx, file("e2e-state", "/etc/e2e-state", "before\n"))
		ready(ctx, "file/e2e-state")

		on(ctx, node, "cat /dev/zero > /var/lib/fettle/filler 2>/dev/null || true")
		kubectl(ctx, "patch", "file", "e2e-state", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		Eventually(condition(ctx, "file/e2e-state", "Ready")).WithContext(ctx).Should(ContainSubstring(full))
		Expect(on(ctx, node, "cat /etc/e2e-state")).To(Equal("before\n"), "there is no room to back it up")
		Eventually(func() string { return on(ctx, "node-2", "cat /etc/e2e-state") }).WithContext(ctx).Should(Equal("after\n"), "other nodes go on")
		on(ctx, node, "rm /var/lib/fettle/filler")
		nudge(ctx, "file/e2e-state")
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-state") }).WithTimeout(2 * soon).WithContext(ctx).Should(Equal("after\n"))
		ready(ctx, "file/e2e-state", "nodecatalog/"+node)
	}, NodeTimeout(8*soon))
})
