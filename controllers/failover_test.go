package controllers_test

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// writes returns the requests so far that changed something, except for events and the lease that
// elects the leader.
func (rs *requests) writes() []string {
	return slices.DeleteFunc(rs.matching(""), func(s string) bool {
		return strings.HasPrefix(s, "GET ") || strings.Contains(s, "/leases/fettle-manager") || strings.HasSuffix(s, "fettle-system/leases") || strings.Contains(s, "/events")
	})
}

var _ = Describe("A manager that waits for another", func() {
	It("reads nothing until it leads, and then continues without writing anything again", func(ctx SpecContext) {
		first, second := &requests{}, &requests{}
		deferCleanUp()
		leader, stop := runManager(first, true)
		Eventually(ctx, leader.Elected()).Should(BeClosed())
		create(ctx, node("web-1", "web"), node("db-1", "db"), file("a", "/a", on("web")), file("b", "/b"), file("c", "/b"))
		Eventually(ctx, func() []string { return listNames(ctx, &v1alpha1.NodeCatalogList{}) }).Should(ConsistOf("web-1", "db-1"))
		Eventually(ctx, func() []string { return fileConditions(ctx, "c") }).Should(ContainElement(ContainSubstring("Stalled=True"))) // so all that is for web-1 is known
		reportApplied(ctx, "web-1")
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Ready=True InSync"))

		waiting, _ := runManager(second, true)
		Eventually(ctx, func() []string { return second.matching("/leases/fettle-manager") }).ShouldNot(BeEmpty())
		By("an event on a node, which one manager records")
		reportApplied(ctx, "db-1", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateChanged, Corrective: true, Message: "content changed"})
		Eventually(ctx, func() []string { return eventNotes(ctx, "NodeCatalog") }).Should(ContainElement("DriftCorrected File/a: content changed; author: unknown"))
		Expect(first.awaitQuiet(ctx, k8s)).To(Succeed())
		Expect(waiting.Elected()).NotTo(BeClosed())
		Expect(second.matching("/events")).To(BeEmpty())
		Expect(second.writes()).To(BeEmpty())

		Expect(second.matching("/apis/fettle.dev")).To(BeEmpty())

		By("the leader stops")
		stop()
		Eventually(ctx, waiting.Elected()).Should(BeClosed())
		Eventually(ctx, func() []string { return second.matching("/nodecatalogs") }).ShouldNot(BeEmpty())
		Consistently(ctx, second.writes).WithTimeout(2*time.Second).Should(Or(BeEmpty(), Equal([]string{"PATCH /apis/fettle.dev/v1alpha1/fleets/fleet/status"})),
			"the leader may have stopped before the Fleet was due")
		Expect(len(second.firstReads())).To(BeNumerically(">", len(v1alpha1.Resources())))
		Expect(second.firstReads()).To(HaveEach(And(ContainSubstring("sendInitialEvents=true"), ContainSubstring("resourceVersionMatch=NotOlderThan"), Not(ContainSubstring("resourceVersion=")))),
			"without a resourceVersion the initial events are as new as a quorum read")

		By("a node joins")
		create(ctx, node("web-2", "web"))
		Eventually(ctx, func() []string { return listNames(ctx, &v1alpha1.NodeCatalogList{}) }).Should(ContainElement("web-2"))
		Eventually(ctx, second.writes).Should(ContainElement("POST /apis/coordination.k8s.io/v1/namespaces/fettle-nodes/leases"))
	})
})
