//go:build e2e

package e2e_test

import (
	"context"
	"io"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// nginx is a Package on one node, which the repository of the machines has.
const nginx = `{apiVersion: fettle.dev/v1alpha1, kind: Package, metadata: {name: nginx-light}, spec: {nodeSelector: {matchLabels: {kubernetes.io/hostname: node-1}}, ensure: installed, deletionPolicy: Delete}}`

// condition returns the message of a resource's condition.
func condition(ctx context.Context, resource, kind string) func() string {
	return func() string {
		GinkgoHelper()
		return kubectl(ctx, "get", resource, "-o", `jsonpath={.status.conditions[?(@.type=="`+kind+`")].message}`)
	}
}

// nudge changes a resource without effect, so that its nodes apply it again before the next interval.
func nudge(ctx context.Context, resource string) {
	GinkgoHelper()
	kubectl(ctx, "patch", resource, "--type=merge", `--patch={"spec":{"noop":false}}`)
}

var _ = Describe("A host", Label("host"), func() {
	It("gets its package although the agent is killed meanwhile", func(ctx SpecContext) {
		on(ctx, node, "echo 'pre-invoke=sleep 2' > /etc/dpkg/dpkg.cfg.d/e2e") // otherwise dpkg ends before a poll sees it
		DeferCleanup(func(ctx SpecContext) { on(ctx, node, "rm /etc/dpkg/dpkg.cfg.d/e2e") }, NodeTimeout(soon))
		apply(ctx, nginx)
		Eventually(func() string { return on(ctx, node, "pgrep -x dpkg || true") }).WithPolling(100 * time.Millisecond).WithContext(ctx).ShouldNot(BeEmpty())
		killAgent(ctx, node, syscall.SIGKILL)
		ready(ctx, "package/nginx-light")
		Expect(on(ctx, node, "dpkg --audit; dpkg-query --show --showformat '${db:Status-Status}' nginx-light")).To(Equal("installed"))
	}, NodeTimeout(5*soon))

	It("whose apt is locked gets its package once the lock is free", func(ctx SpecContext) {
		apply(ctx, file("e2e-locked", "/etc/e2e-locked", "desired\n"))
		ready(ctx, "file/e2e-locked")
		// dpkg locks by fcntl, not by flock.
		holder := machine(node).Command(ctx, "perl", "-e", `use Fcntl; $| = 1; open(F, ">>", "/var/lib/dpkg/lock-frontend"); my $lock = pack("s s x4 l! l! i", F_WRLCK, 0, 0, 0, 0);
			fcntl(F, F_SETLK, $lock) or die; print "held\n"; sleep 3600`)
		out, err := holder.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(holder.Start()).To(Succeed())
		free := func() {
			_ = holder.Cancel()
			_ = holder.Wait()
		}
		DeferCleanup(free)
		_, err = io.ReadFull(out, make([]byte, len("held\n")))
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, nginx)
		Eventually(func() string { return on(ctx, node, "pgrep -x apt-get || true") }).WithContext(ctx).ShouldNot(BeEmpty())
		drift(ctx, node, "/etc/e2e-locked", "desired\n") // apt waits for up to ten minutes, but nothing else does
		Expect(on(ctx, node, "dpkg-query --show --showformat '${db:Status-Status}' nginx-light || true")).NotTo(Equal("installed"))
		free()
		ready(ctx, "package/nginx-light")
	}, NodeTimeout(4*soon))

	It("whose package index is broken says so, and recovers", func(ctx SpecContext) {
		on(ctx, node, "mv /srv/repository/Packages /srv/repository/Packages.away; rm -rf /var/lib/apt/lists/*")
		restore := func(ctx SpecContext) {
			on(ctx, node, "[ ! -e /srv/repository/Packages.away ] || mv /srv/repository/Packages.away /srv/repository/Packages")
		}
		DeferCleanup(restore, NodeTimeout(soon))
		apply(ctx, nginx)
		Eventually(func() string {
			return kubectl(ctx, "get", "package", "nginx-light", "-o", "jsonpath={.status.nodes.failed}")
		}).WithTimeout(2 * soon).WithContext(ctx).Should(Equal("1"))
		restore(ctx)
		nudge(ctx, "package/nginx-light")
		kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=3m", "package/nginx-light")
	}, NodeTimeout(8*soon))

	It("is managed while kubelet and containerd restart", func(ctx SpecContext) {
		apply(ctx, file("e2e-runtime", "/etc/e2e-runtime", "desired\n"))
		ready(ctx, "file/e2e-runtime")
		before := restarts(ctx, "fettle-nodes")
		on(ctx, node, "systemctl restart containerd kubelet")
		on(ctx, node, "echo changed > /etc/e2e-runtime")
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-runtime") }).WithContext(ctx).Should(Equal("desired\n"))
		Eventually(func() string { return on(ctx, node, "systemctl is-active kubelet containerd") }).WithContext(ctx).Should(Equal("active\nactive\n"))
		Expect(restarts(ctx, "fettle-nodes")).To(Equal(before))
	}, NodeTimeout(4*soon))

	It("is managed while the pod network is gone", func(ctx SpecContext) {
		apply(ctx, file("e2e-cni", "/etc/e2e-cni", "desired\n"))
		ready(ctx, "file/e2e-cni")
		before := restarts(ctx, "fettle-nodes")
		on(ctx, node, "ip link set cni0 down")
		DeferCleanup(func(ctx SpecContext) { on(ctx, node, "ip link set cni0 up") }, NodeTimeout(soon))
		on(ctx, node, "echo changed > /etc/e2e-cni")
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-cni") }).WithContext(ctx).Should(Equal("desired\n"))
		Consistently(func() string { return restarts(ctx, "fettle-nodes") }).WithTimeout(2 * time.Minute).WithPolling(5 * time.Second).WithContext(ctx).Should(Equal(before))
	}, NodeTimeout(6*soon))
})
