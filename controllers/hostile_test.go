package controllers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
)

var _ = Describe("A node whose NodeCatalog can't be written", func() {
	It("holds up no other, is reported, and is tried again with a backoff", func(ctx SpecContext) {
		w := newWorld()
		metrics, err := controllers.NewMetrics(prometheus.NewRegistry())
		Expect(err).NotTo(HaveOccurred())
		w.fleet.Metrics = metrics
		counting := &behind{Client: k8s}
		w.fleet.Client = counting
		create(ctx, node("full", "web"), node("n2", "web"))
		w.pass(ctx)
		reportFacts(ctx, "full", map[string]any{"x": strings.Repeat("x", 1_540_000)})
		applied(ctx, "full")
		applied(ctx, "n2")
		w.pass(ctx)
		w.drainEvents()

		create(ctx, file("own", "/own", func(f *v1alpha1.File) {
			f.Spec.Content, f.Spec.ContentTemplate = nil, new("{{ .node.name }}"+strings.Repeat("x", 60<<10))
		}))
		reportFacts(ctx, "n2", map[string]any{})
		Expect(w.pass(ctx)).To(BeNumerically("~", 2*time.Second, time.Second))
		Expect(has(ctx, "n2")).To(HaveKey("File/own"))
		Expect(has(ctx, "full")).To(BeEmpty())
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "own").Samples).To(ContainElement(And(
			HaveField("Node", "full"), HaveField("State", v1alpha1.StatePending),
			HaveField("Message", ContainSubstring("the API server refuses the node's catalog, so the node keeps what it has: cannot patch NodeCatalog full: ")))))
		Expect(w.drainEvents()).To(ContainElement(ContainSubstring("Warning NotPublished the API server refuses the node's catalog")))
		Expect(metrics.Refused()).To(Equal(1.0))

		By("passes that come while it waits")
		counting.patches = 0
		for range 10 {
			w.passAfter(ctx, 100*time.Millisecond)
		}
		Expect(counting.patches).To(BeZero())
		for range 60 {
			w.passAfter(ctx, time.Second)
		}
		Expect(counting.patches).To(BeNumerically("~", 5, 2))
		Expect(w.drainEvents()).To(BeEmpty())

		By("the node, that has room again")
		setStatus(ctx, "full", func(s *v1alpha1.NodeCatalogStatus) { s.Facts = nil })
		reportFacts(ctx, "full", map[string]any{})
		w.passAfter(ctx, 30*time.Second)
		Expect(has(ctx, "full")).To(HaveKey("File/own"))
		Expect(metrics.Refused()).To(BeZero())
	})

	It("is written at once when it is to have something else", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("full", "web"))
		w.pass(ctx)
		reportFacts(ctx, "full", map[string]any{"x": strings.Repeat("x", 1_540_000)})
		create(ctx, file("own", "/own", func(f *v1alpha1.File) {
			f.Spec.Content, f.Spec.ContentTemplate = nil, new("{{ .node.name }}"+strings.Repeat("x", 60<<10))
		}))
		w.pass(ctx)
		Expect(has(ctx, "full")).To(BeEmpty())
		update(ctx, "own", func(f *v1alpha1.File) { f.Spec.ContentTemplate = new("{{ .node.name }}") })
		w.passAfter(ctx, time.Millisecond)
		Expect(has(ctx, "full")).To(HaveKey("File/own"))
	})

	It("loses the record of who wrote what with each write of the manager", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("n1", "web"))
		w.pass(ctx)
		applied(ctx, "n1")
		create(ctx, file("a", "/a"))
		w.pass(ctx)
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "n1").ManagedFields).To(BeEmpty())
	})
})

var _ = Describe("A node that reports without end", func() {
	It("causes few events, and none of another node's are lost", func(ctx SpecContext) {
		startManager(false)
		create(ctx, node("loud", "web"), node("n2", "web"))
		for _, name := range []string{"loud", "n2"} {
			Eventually(ctx, func() []string { return names(ctx, &v1alpha1.NodeCatalogList{}) }).WithTimeout(30 * time.Second).Should(ContainElement(name))
		}
		for i := range 12 {
			var failures []v1alpha1.ResourceReport
			for j := range 10 {
				failures = append(failures, v1alpha1.ResourceReport{Ref: v1alpha1.ReportedRef(fmt.Sprintf("File/f%d-%d", i, j)), State: v1alpha1.StateFailed, Message: "no"})
			}
			applied(ctx, "loud", failures...)
		}
		applied(ctx, "n2", v1alpha1.ResourceReport{Ref: "File/heard", State: v1alpha1.StateFailed, Message: "no"})
		Eventually(ctx, func() []string { return noted(ctx, "NodeCatalog") }).WithTimeout(30 * time.Second).Should(ContainElement(ContainSubstring("File/heard")))
		Eventually(ctx, func() int { return len(noted(ctx, "NodeCatalog")) }).WithTimeout(30 * time.Second).Should(BeNumerically(">=", 26))
		Consistently(ctx, func() int { return len(noted(ctx, "NodeCatalog")) }).WithTimeout(time.Second).Should(BeNumerically("<=", 40)) // of 120
	})
})

func TestPassesForANodeThatReportsWithoutEndAreRare(t *testing.T) {
	t.Parallel()

	now := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	fleet := &controllers.Fleet{Clock: now}
	version := 0
	report := func(node string) time.Duration {
		version++
		before := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: node}}
		after := before.DeepCopy()
		after.Status.AgentVersion = fmt.Sprint(version)
		return fleet.WaitAfterReport(before, after)
	}
	soon, late := 0, 0
	for range 600 { // a minute
		now.SetTime(now.Now().Add(100 * time.Millisecond))
		if wait := report("loud"); wait == 100*time.Millisecond {
			soon++
		} else if wait == 5*time.Second {
			late++
		}
	}
	if soon > 33 || soon < 30 || soon+late != 600 {
		t.Errorf("of 600 reports %d are heard at once and %d later", soon, late)
	}
	if wait := report("n2"); wait != 100*time.Millisecond {
		t.Errorf("another node waits %s", wait)
	}
	same := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
	if wait := fleet.WaitAfterReport(same, same.DeepCopy()); wait != 0 {
		t.Errorf("a report that says nothing new asks for a pass in %s", wait)
	}
}
