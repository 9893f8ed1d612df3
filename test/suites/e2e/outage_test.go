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

// outage is how long an outage of the control plane lasts.
const outage = 2 * time.Minute

// lasts waits until something that began then has lasted for some time.
func lasts(ctx context.Context, began time.Time, d time.Duration) {
	GinkgoHelper()
	select {
	case <-time.After(time.Until(began.Add(d))):
	case <-ctx.Done():
		Fail("the spec was interrupted")
	}
}

// drift changes a File on a node, and waits until the agent has restored its content.
func drift(ctx context.Context, name, path, desired string) {
	GinkgoHelper()
	on(ctx, name, "echo changed > "+path)
	Eventually(func() string { return on(ctx, name, "cat "+path) }).WithContext(ctx).Should(Equal(desired))
}

var _ = Describe("While the API server is away", Label("outage"), Ordered, func() {
	const path, rebooted = "/etc/e2e-outage", "node-3"
	var began time.Time

	BeforeAll(func(ctx SpecContext) {
		apply(ctx, file("e2e-outage", path, "desired\n"))
		ready(ctx, "file/e2e-outage")
		installService(ctx, rebooted)
		c.ControlPlane.APIServer.Kill()
		began = time.Now()
		DeferCleanup(startAPIServer, NodeTimeout(2*soon))
	}, NodeTimeout(4*soon))

	It("agents correct drift", func(ctx SpecContext) {
		before := on(ctx, node, "pgrep -x nodeagent")
		drift(ctx, node, path, "desired\n")
		Expect(on(ctx, node, "pgrep -x nodeagent")).To(Equal(before))
	}, NodeTimeout(2*soon))

	It("a host that reboots has its agent, as a service", Label("finding-10"), func(ctx SpecContext) {
		machine(rebooted).PowerOff()
		Expect(machine(rebooted).PowerOn(ctx)).To(Succeed())
		drift(ctx, rebooted, path, "desired\n")
		Expect(on(ctx, rebooted, "ctr --namespace k8s.io tasks list --quiet")).To(BeEmpty(), "the kubelet starts no pods without the API server")
	}, NodeTimeout(3*soon))

	It("a manager that starts waits for it", Label("finding-9"), func(ctx SpecContext) {
		nodes := []string{"node-1", "node-2"} // the kubelet of node-3 starts no pods
		managers := func() (pids []string) {
			for _, name := range nodes {
				for pid := range strings.FieldsSeq(on(ctx, name, "pgrep -x manager || true")) {
					pids = append(pids, name+" "+pid)
				}
			}
			return pids
		}
		killed := managers()
		Expect(killed).NotTo(BeEmpty())
		for _, name := range nodes {
			on(ctx, name, "pkill -KILL -x manager || true")
		}
		Eventually(managers).WithContext(ctx).Should(And(HaveLen(len(killed)), Not(ContainElement(BeElementOf(killed)))))
		started := managers()
		Consistently(managers).WithTimeout(30 * time.Second).WithPolling(time.Second).WithContext(ctx).Should(Equal(started))
	}, NodeTimeout(4*soon))

	It("nothing is lost: changes reach all nodes when it is back after two minutes", func(ctx SpecContext) {
		lasts(ctx, began, outage)
		startAPIServer(ctx)
		kubectl(ctx, "patch", "file", "e2e-outage", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		for _, n := range c.Nodes() {
			Eventually(func() string { return on(ctx, n.Name, "cat "+path) }).WithTimeout(3 * soon).WithContext(ctx).Should(Equal("after\n"))
		}
		ready(ctx, "file/e2e-outage")
		rollout(ctx)
	}, NodeTimeout(8*soon))
})

var _ = Describe("An outage", Label("outage"), func() {
	It("of etcd does not stop agents from correcting drift, and no node is taken for lost", func(ctx SpecContext) {
		const path = "/etc/e2e-etcd"
		apply(ctx, file("e2e-etcd", path, "desired\n"))
		ready(ctx, "file/e2e-etcd")
		before := restarts(ctx, "fettle-nodes")
		etcd := c.ControlPlane.Etcd
		DeferCleanup(func(ctx SpecContext) { startEtcd(ctx) }, NodeTimeout(2*soon))
		began := time.Now()
		etcd.Pause() // requests hang
		drift(ctx, node, path, "desired\n")
		lasts(ctx, began, outage/2)
		etcd.Resume()
		etcd.Kill() // requests fail
		drift(ctx, node, path, "desired\n")
		lasts(ctx, began, outage)
		startEtcd(ctx)
		kubectl(ctx, "patch", "file", "e2e-etcd", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		Eventually(func() string { return on(ctx, node, "cat "+path) }).WithTimeout(3 * soon).WithContext(ctx).Should(Equal("after\n"))
		// A Lease that is not renewed within a minute from now makes its node silent.
		unknown := func() string {
			return kubectl(ctx, "get", "file", "e2e-etcd", "-o", "jsonpath={.status.nodes.unknown}")
		}
		Consistently(unknown).WithTimeout(75 * time.Second).WithPolling(time.Second).WithContext(ctx).Should(Or(BeEmpty(), Equal("0")))
		ready(ctx, "file/e2e-etcd")
		Expect(restarts(ctx, "fettle-nodes")).To(Equal(before), "agents survive an outage")
		rollout(ctx)
	}, NodeTimeout(12*soon))

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
		rollout(ctx)
	}, NodeTimeout(5*soon))
})

// startEtcd starts etcd unless it runs, and waits until the API server is ready.
func startEtcd(ctx context.Context) {
	GinkgoHelper()
	etcd := c.ControlPlane.Etcd
	etcd.Resume()
	select {
	case <-etcd.Ended():
		Expect(etcd.Start()).To(Succeed())
	default:
	}
	Expect(c.WaitReady(ctx)).To(Succeed())
}

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
