//go:build e2e

package e2e_test

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// previous returns the commit to upgrade from: that of FETTLE_E2E_PREVIOUS, the newest tag before this commit, or the
// commit before it.
func previous(ctx context.Context) string {
	GinkgoHelper()
	if commit := os.Getenv("FETTLE_E2E_PREVIOUS"); commit != "" {
		return commit
	}
	return strings.TrimSpace(run(ctx, "sh", "-euc", "git describe --tags --abbrev=0 HEAD^ 2>/dev/null || git rev-parse HEAD^"))
}

// previousWithRollouts is previous, or the commit before this one if that has no RolloutPolicies yet.
func previousWithRollouts(ctx context.Context) string {
	GinkgoHelper()
	commit := previous(ctx)
	if run(ctx, "git", "ls-tree", commit, "config/rollout") == "" {
		return "HEAD^"
	}
	return commit
}

// upgraded returns resources whose objects and processes show whether an upgrade changed anything.
func upgraded(name string) string {
	return strings.ReplaceAll(`
apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: NAME}
spec: {nodeSelector: {}, path: /etc/NAME, content: "managed\n", deletionPolicy: Restore, notify: [Exec/NAME]}
---
apiVersion: fettle.dev/v1alpha1
kind: Exec
metadata: {name: NAME}
spec: {nodeSelector: {}, command: echo ran >> /var/NAME, shell: true, refreshOnly: true}
---
apiVersion: fettle.dev/v1alpha1
kind: File
metadata: {name: NAME-unit}
spec: {nodeSelector: {}, path: /etc/systemd/system/NAME.service, content: "[Service]\nExecStart=/bin/sleep infinity\n", deletionPolicy: Delete, notify: [SystemService/NAME]}
---
apiVersion: fettle.dev/v1alpha1
kind: SystemService
metadata: {name: NAME}
spec: {nodeSelector: {}, ensure: running, deletionPolicy: Delete}
`, "NAME", name)
}

// applyUpgraded applies these resources, and waits for them and for what they notify.
func applyUpgraded(ctx context.Context, name string) {
	GinkgoHelper()
	for _, n := range c.Nodes() {
		on(ctx, n.Name, "echo original > /etc/"+name+"; rm -f /var/"+name)
	}
	apply(ctx, upgraded(name))
	ready(ctx, "file/"+name, "exec/"+name, "systemservice/"+name)
	for _, n := range c.Nodes() {
		Eventually(func() string { return on(ctx, n.Name, "cat /var/"+name+" || true") }).WithContext(ctx).Should(Equal("ran\n"))
	}
	ready(ctx, "nodecatalogs", "--all")
}

// observe returns what the resources left on the nodes (inodes, times, processes, and a line for each command), and since
// when their Ready has not changed.
func observe(ctx context.Context, name string) string {
	GinkgoHelper()
	all := kubectl(ctx, "get", "file/"+name, "file/"+name+"-unit", "exec/"+name, "systemservice/"+name, "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {range .status.conditions[?(@.type=="Ready")]}{.status} {.lastTransitionTime}{end}{"\n"}{end}`)
	Expect(all).NotTo(ContainSubstring("False"))
	for _, n := range c.Nodes() {
		all += on(ctx, n.Name, strings.ReplaceAll("hostname; stat --format='%i %Y %Z' /etc/NAME /etc/systemd/system/NAME.service; cat /etc/NAME /var/NAME; systemctl show --property=MainPID,ActiveState NAME", "NAME", name))
	}
	return all
}

// probe waits until the managers and the agents that run now have applied a resource.
func probe(ctx context.Context) {
	GinkgoHelper()
	manifest := file("e2e-probe", "/etc/e2e-probe", "x", "deletionPolicy: Delete")
	Expect(c.Apply(ctx, manifest)).To(Succeed())
	ready(ctx, "file/e2e-probe")
	Expect(c.Delete(ctx, manifest)).To(Succeed())
	ready(ctx, "nodecatalogs", "--all")
}

var _ = Describe("An upgrade", Label("install", "upgrade"), func() {
	It("and a rollback leave hosts and statuses as they are", func(ctx SpecContext) {
		old := at(ctx, previous(ctx))
		old.load(ctx)
		DeferCleanup(func(ctx SpecContext) { restoreInstallation(ctx) }, NodeTimeout(8*soon))
		applyUpgraded(ctx, "e2e-rollback")
		before := observe(ctx, "e2e-rollback")
		old.install(ctx)
		probe(ctx)
		Expect(observe(ctx, "e2e-rollback")).To(Equal(before))
		Expect(kubectl(ctx, "diff", "-k", old.tree+"/config/crd")).To(BeEmpty())

		applyUpgraded(ctx, "e2e-upgrade")
		before += observe(ctx, "e2e-upgrade")
		installed.install(ctx)
		probe(ctx)
		Expect(observe(ctx, "e2e-rollback") + observe(ctx, "e2e-upgrade")).To(Equal(before))
		Expect(kubectl(ctx, "diff", "-k", installed.tree+"/config/crd")).To(BeEmpty())

		Expect(c.Delete(ctx, upgraded("e2e-rollback")+"---"+upgraded("e2e-upgrade"))).To(Succeed())
		Expect(on(ctx, node, "cat /etc/e2e-rollback /etc/e2e-upgrade")).To(Equal("original\noriginal\n"), "agents of both versions use the other's bucket")
	}, NodeTimeout(20*soon))

	DescribeTable("of the manager stops at a bad revision, and the old one goes on", func(ctx SpecContext, patch string) {
		apply(ctx, file("e2e-bad-manager", "/etc/e2e-bad-manager", "before\n"))
		ready(ctx, "file/e2e-bad-manager")
		agents := restarts(ctx, "fettle-nodes")
		DeferCleanup(func(ctx SpecContext) { restoreInstallation(ctx) }, NodeTimeout(8*soon))

		kubectl(ctx, "-n", "fettle-system", "patch", "deployment", "fettle-manager", "--type=json", "--patch="+patch)
		_, err := c.Kubectl(ctx, "-n", "fettle-system", "rollout", "status", "deployment/fettle-manager", "--timeout=30s")
		Expect(err).To(MatchError(ContainSubstring("timed out")))
		Expect(kubectl(ctx, "-n", "fettle-system", "get", "deployment", "fettle-manager", "-o", "jsonpath={.status.availableReplicas} available, {.status.updatedReplicas} updated")).
			To(Equal("2 available, 1 updated"))
		kubectl(ctx, "patch", "file", "e2e-bad-manager", "--type=merge", `--patch={"spec":{"content":"after\n"}}`)
		Eventually(func() string { return on(ctx, node, "cat /etc/e2e-bad-manager") }).WithContext(ctx).Should(Equal("after\n"))
		Expect(restarts(ctx, "fettle-nodes")).To(Equal(agents))

		kubectl(ctx, "-n", "fettle-system", "rollout", "undo", "deployment/fettle-manager")
		rollout(ctx)
	},
		Entry("whose image cannot be pulled", `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "localhost/fettle-manager:absent"}]`, NodeTimeout(8*soon)),
		Entry("that exits", `[{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": ["--unknown-flag"]}]`, NodeTimeout(8*soon)),
	)
})
