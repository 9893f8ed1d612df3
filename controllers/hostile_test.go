package controllers_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// gaugeValue returns the value of a metric.
func gaugeValue(from prometheus.Gatherer, name string) float64 {
	GinkgoHelper()
	all, err := from.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range all {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	Fail("no metric " + name)
	return 0
}

var _ = Describe("A node whose NodeCatalog cannot be written", func() {
	It("delays no other, is reported, and is retried with backoff", func(ctx SpecContext) {
		w := newFixture()
		counting := &staleCache{Client: k8s}
		w.client.Client = counting
		create(ctx, node("full", "web"), node("n2", "web"))
		w.reconcile(ctx)
		reportFacts(ctx, "full", map[string]any{"x": strings.Repeat("x", 1_540_000)})
		reportApplied(ctx, "full")
		reportApplied(ctx, "n2")
		w.reconcile(ctx)
		w.drainEvents()

		create(ctx, file("own", "/own", func(f *v1alpha1.File) {
			f.Spec.Content, f.Spec.ContentTemplate = nil, new("{{ .node.name }}"+strings.Repeat("x", 60<<10))
		}))
		reportFacts(ctx, "n2", map[string]any{})
		Expect(w.reconcile(ctx)).To(BeNumerically("~", 2*time.Second, time.Second))
		Expect(entriesOf(ctx, "n2")).To(HaveKey("File/own"))
		Expect(entriesOf(ctx, "full")).To(BeEmpty())
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "own").Samples).To(ContainElement(And(
			HaveField("Node", "full"), HaveField("State", v1alpha1.StatePending),
			HaveField("Message", ContainSubstring("the API server rejects the NodeCatalog, so the node stays at its last one: cannot patch NodeCatalog full: ")))))
		Expect(w.drainEvents()).To(ContainElement(ContainSubstring("Warning NotPublished the API server rejects the NodeCatalog")))
		Expect(gaugeValue(w.metrics, "fettle_unpublished_nodes")).To(Equal(1.0))

		By("reconciliations during the backoff")
		counting.patches = 0
		for range 10 {
			w.reconcileAfter(ctx, 100*time.Millisecond)
		}
		Expect(counting.patches).To(BeZero())
		for range 60 {
			w.reconcileAfter(ctx, time.Second)
		}
		Expect(counting.patches).To(BeNumerically("~", 5, 2))
		Expect(w.drainEvents()).To(BeEmpty())

		By("the node makes room")
		setStatus(ctx, "full", func(s *v1alpha1.NodeCatalogStatus) { s.Facts = nil })
		reportFacts(ctx, "full", map[string]any{})
		w.reconcileAfter(ctx, 30*time.Second)
		Expect(entriesOf(ctx, "full")).To(HaveKey("File/own"))
		Expect(gaugeValue(w.metrics, "fettle_unpublished_nodes")).To(BeZero())
	})

	It("is written at once when its desired spec changes", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("full", "web"))
		w.reconcile(ctx)
		reportFacts(ctx, "full", map[string]any{"x": strings.Repeat("x", 1_540_000)})
		create(ctx, file("own", "/own", func(f *v1alpha1.File) {
			f.Spec.Content, f.Spec.ContentTemplate = nil, new("{{ .node.name }}"+strings.Repeat("x", 60<<10))
		}))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "full")).To(BeEmpty())
		updateFile(ctx, "own", func(f *v1alpha1.File) { f.Spec.ContentTemplate = new("{{ .node.name }}") })
		w.reconcileAfter(ctx, time.Millisecond)
		Expect(entriesOf(ctx, "full")).To(HaveKey("File/own"))
	})

	It("is not retried once its desired spec equals its present one", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("full", "web"))
		w.reconcile(ctx)
		reportFacts(ctx, "full", map[string]any{"x": strings.Repeat("x", 1_540_000)})
		create(ctx, file("own", "/own", func(f *v1alpha1.File) {
			f.Spec.Content, f.Spec.ContentTemplate = nil, new("{{ .node.name }}"+strings.Repeat("x", 60<<10))
		}))
		w.reconcile(ctx)
		Expect(gaugeValue(w.metrics, "fettle_unpublished_nodes")).To(Equal(1.0))
		Expect(k8s.Delete(ctx, file("own", ""))).To(Succeed())
		Expect(w.reconcile(ctx)).To(BeNumerically(">=", time.Second))
		Expect(gaugeValue(w.metrics, "fettle_unpublished_nodes")).To(BeZero())
	})

	It("loses its managedFields with each write of the manager", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"))
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		create(ctx, file("a", "/a"))
		w.reconcile(ctx)
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "n1").ManagedFields).To(BeEmpty())
	})
})

var _ = Describe("A node that reports continuously", func() {
	It("causes few events, and no event of another node is lost", func(ctx SpecContext) {
		startManager(false)
		create(ctx, node("loud", "web"), node("n2", "web"))
		for _, name := range []string{"loud", "n2"} {
			Eventually(ctx, func() []string { return listNames(ctx, &v1alpha1.NodeCatalogList{}) }).Should(ContainElement(name))
		}
		for i := range 12 {
			var failures []v1alpha1.ResourceReport
			for j := range 10 {
				failures = append(failures, v1alpha1.ResourceReport{Ref: v1alpha1.ReportedRef(fmt.Sprintf("File/f%d-%d", i, j)), State: v1alpha1.StateFailed, Message: "no"})
			}
			reportApplied(ctx, "loud", failures...)
		}
		reportApplied(ctx, "n2", v1alpha1.ResourceReport{Ref: "File/heard", State: v1alpha1.StateFailed, Message: "no"})
		Eventually(ctx, func() []string { return eventNotes(ctx, "NodeCatalog") }).Should(ContainElement(ContainSubstring("File/heard")))
		Eventually(ctx, func() int { return len(eventNotes(ctx, "NodeCatalog")) }).Should(BeNumerically(">=", 26))
		Consistently(ctx, func() int { return len(eventNotes(ctx, "NodeCatalog")) }).WithTimeout(time.Second).Should(BeNumerically("<=", 40)) // of 120
	})
})
