//go:build e2e

package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// column returns the cell of a resource in the table that kubectl prints.
func column(ctx context.Context, resource, name string) string {
	GinkgoHelper()
	lines := strings.Split(strings.TrimSpace(kubectl(ctx, "get", resource)), "\n")
	Expect(lines).To(HaveLen(2))
	start := strings.Index(lines[0], name)
	Expect(start).To(BeNumerically(">=", 0), lines[0])
	if len(lines[1]) < start {
		return ""
	}
	cell, _, _ := strings.Cut(lines[1][start:], "  ")
	return strings.TrimSpace(cell)
}

var _ = Describe("kubectl get", Label("status"), func() {
	It("shows a node whose agent is silent", Label("finding-11"), func(ctx SpecContext) {
		const name = "node-3"
		manifest := strings.ReplaceAll(file("e2e-silent", "/etc/e2e-silent", "x"), "nodeSelector: {}", "nodeSelector: {matchLabels: {kubernetes.io/hostname: "+name+"}}")
		apply(ctx, manifest)
		ready(ctx, "file/e2e-silent")
		machine(name).PowerOff()
		DeferCleanup(func(ctx SpecContext) {
			Expect(machine(name).PowerOn(ctx)).To(Succeed())
			kubectl(ctx, "wait", "--for=condition=Ready", "--timeout=2m", "node/"+name)
			rollout(ctx)
		}, NodeTimeout(5*soon))
		Eventually(func() string { return column(ctx, "nodecatalog/"+name, "SILENT") }).WithTimeout(3 * soon).WithContext(ctx).ShouldNot(BeEmpty())
		Eventually(func() string { return column(ctx, "file/e2e-silent", "READY") }).WithContext(ctx).Should(Equal("False"))
		Expect(column(ctx, "file/e2e-silent", "UNKNOWN")).To(Equal("1"))
	}, NodeTimeout(10*soon))

	It("shows a node on which runs are disabled", func(ctx SpecContext) {
		apply(ctx, strings.ReplaceAll(file("e2e-off", "/etc/e2e-off", "before"), "nodeSelector: {}", "nodeSelector: {matchLabels: {kubernetes.io/hostname: "+node+"}}"))
		ready(ctx, "file/e2e-off")
		inPod(ctx, node, "", "disable", "maintenance")
		DeferCleanup(func(ctx SpecContext) { inPod(ctx, node, "", "enable") }, NodeTimeout(soon))
		Eventually(func() string { return column(ctx, "nodecatalog/"+node, "REASON") }).WithContext(ctx).Should(Equal("Disabled"))
		Eventually(func() string { return column(ctx, "file/e2e-off", "DISABLED") }).WithContext(ctx).Should(Equal("1"))
		Expect(column(ctx, "file/e2e-off", "INSYNC")).To(Equal("0"))
		Expect(column(ctx, "file/e2e-off", "READY")).To(Equal("False"))
		inPod(ctx, node, "", "enable")
		ready(ctx, "file/e2e-off", "nodecatalog/"+node)
		Expect(column(ctx, "file/e2e-off", "DISABLED")).To(Equal("0"))
	}, NodeTimeout(4*soon))

	It("says that a resource selects no node", Label("finding-13"), func(ctx SpecContext) {
		apply(ctx, strings.ReplaceAll(file("e2e-nowhere", "/etc/e2e-nowhere", "x"), "nodeSelector: {}", "nodeSelector: {matchLabels: {absent: label}}"))
		ready(ctx, "file/e2e-nowhere")
		Expect(column(ctx, "file/e2e-nowhere", "REASON")).To(Equal("NoNodesSelected"))
		Expect(condition(ctx, "file/e2e-nowhere", "Ready")()).To(ContainSubstring("absent=label"))
	}, NodeTimeout(2*soon))
})

var _ = Describe("A manager", Label("manager"), func() {
	It("is not ready while a definition is missing, and recovers", func(ctx SpecContext) {
		kubectl(ctx, "delete", "customresourcedefinition", "notifies.fettle.dev")
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, "apply", "-k", installed.tree+"/config/crd")
			rollout(ctx)
		}, NodeTimeout(3*soon))
		Eventually(func() string {
			return kubectl(ctx, "-n", "fettle-system", "get", "deployment", "fettle-manager", "-o", "jsonpath={.status.readyReplicas}")
		}).WithTimeout(2 * soon).WithContext(ctx).Should(Or(BeEmpty(), Equal("0"))) // the manager looks every 20 seconds, and the kubelet three times
	}, NodeTimeout(5*soon))
})
