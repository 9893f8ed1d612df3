package controllers_test

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func eachItem(list client.ObjectList, do func(metav1.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		item, err := meta.Accessor(o)
		if err == nil {
			do(item)
		}
		return err
	})
}

var _ = Describe("A resource's status", func() {
	It("counts what nodes report, with failures first among the samples", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, file("a", "/a"))
		for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6"} {
			create(ctx, node(name, "web"))
		}
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		reportApplied(ctx, "n2", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateChanged, Corrective: true})
		reportApplied(ctx, "n3", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateNoop, Changes: []v1alpha1.PropertyChange{{Property: "mode", Is: "0600", Should: "0644"}}})
		reportApplied(ctx, "n4", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateFailed, Message: "disk full"})
		reportApplied(ctx, "n5", v1alpha1.ResourceReport{Ref: "File/b", State: v1alpha1.StateFailed, Message: "another's"})
		setStatus(ctx, "n5", func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 3 })
		w.reconcile(ctx)
		status := statusOf(ctx, NewWithT(GinkgoT()), "a")
		Expect(*status.Nodes).To(Equal(v1alpha1.NodeCounts{Selected: 6, InSync: 2, Noop: 1, Failed: 1, Pending: 2}))
		Expect(status.ObservedGeneration).To(Equal(int64(1)))
		Expect(status.Samples).To(Equal([]v1alpha1.NodeSample{
			{Node: "n4", State: v1alpha1.StateFailed, Message: "disk full"},
			{Node: "n3", State: v1alpha1.StateNoop, Message: `mode is "0600", should be "0644"`},
			{Node: "n5", State: v1alpha1.StatePending, Message: "the node's status was truncated; state unknown"},
			{Node: "n6", State: v1alpha1.StatePending, Message: "no agent has reported from the node yet"},
		}))
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=False Failed", "Reconciling=True Applying", "Stalled=False Settled"}))
		Expect(messageOf(ctx, "a", "Ready")).To(Equal("2 of 6 nodes in sync, 1 failed, 1 only reported (noop), 2 pending; n4: disk full"))
	})

	It("is about the compiled generation, and does not change with other resources", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), file("a", "/a"), file("b", "/b"))
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		unchanged := statusOf(ctx, NewWithT(GinkgoT()), "b")
		Expect(w.drainEvents()).To(ConsistOf(ContainSubstring("Normal BecameReady 1 of 1"), ContainSubstring("Normal BecameReady 1 of 1")))

		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").ObservedGeneration).To(Equal(int64(2)))
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 1, Pending: 1}))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "b")).To(Equal(unchanged))
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 1, InSync: 1}))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "b")).To(Equal(unchanged))
		Expect(w.drainEvents()).To(ConsistOf(ContainSubstring("Normal BecameReady")))
	})

	It("does not change while others change faster than nodes apply them", func(ctx SpecContext) {
		w := newFixture()
		pass := func() {
			GinkgoHelper()
			w.renew(ctx, "n1")
			w.reconcile(ctx)
		}
		create(ctx, node("n1", "web"), file("a", "/a"), file("b", "/b"), file("c", "/c"))
		pass()
		reportApplied(ctx, "n1")
		pass()
		unchanged := statusOf(ctx, NewWithT(GinkgoT()), "c")
		reason := func(name string) string {
			GinkgoHelper()
			return fileConditions(ctx, name)[0]
		}
		change := func(name, content string) {
			GinkgoHelper()
			updateFile(ctx, name, func(f *v1alpha1.File) { f.Spec.Content = &content })
		}
		change("a", "1")
		pass()
		By("a node applies the first of two changes after the second was made")
		first := nodeCatalog(ctx, NewWithT(GinkgoT()), "n1")
		change("b", "1")
		pass()
		reportAppliedAs(ctx, "n1", first)
		pass()
		Expect(reason("a")).To(Equal("Ready=True InSync"))
		Expect(reason("b")).To(Equal("Ready=False Applying"))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "c")).To(Equal(unchanged))

		By("the second is reverted and repeated, with the same digest")
		change("b", "hello\n")
		pass()
		Expect(reason("b")).To(Equal("Ready=False Applying"), "the node may be in between")
		change("b", "1")
		pass()
		Expect(reason("b")).To(Equal("Ready=False Applying"))
		reportApplied(ctx, "n1")
		pass()
		Expect(reason("b")).To(Equal("Ready=True InSync"))

		By("more changes than are tracked separately")
		for i := range 20 {
			change("a", fmt.Sprint("more ", i))
			pass()
		}
		Expect(reason("a")).To(Equal("Ready=False Applying"))
		Expect(reason("b")).To(Equal("Ready=True InSync"))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "c")).To(Equal(unchanged))
		reportApplied(ctx, "n1")
		pass()
		Expect(reason("a")).To(Equal("Ready=True InSync"))
	})

	It("does not become Ready when a node on which it failed falls silent", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), node("n2", "web"), file("a", "/a"), file("b", "/b"))
		w.reconcile(ctx)
		reportApplied(ctx, "n1", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateFailed, Message: "disk full"})
		reportApplied(ctx, "n2")
		w.reconcile(ctx)
		w.renew(ctx, "n1")
		w.drainEvents()
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.renew(ctx, "n2")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=False Unknown", "Reconciling=True Unknown", "Stalled=False Settled"}))
		Expect(messageOf(ctx, "a", "Ready")).To(Equal("1 of 2 nodes in sync, 1 unknown; n1: no heartbeat from the node's agent for longer than its Lease lasts; last known: disk full"))
		Expect(fileConditions(ctx, "b")).To(ContainElement("Ready=True InSync"))
		Expect(w.drainEvents()).To(BeEmpty())
	})

	It("ignores reports of a Node that was replaced", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
		Expect(k8s.Delete(ctx, node("n1", "web"))).To(Succeed())
		create(ctx, node("n1", "web"))
		w.reconcile(ctx)
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 1, Pending: 1}))
	})

	It("explains why a node cannot apply its catalog", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		setStatus(ctx, "n1", func(s *v1alpha1.NodeCatalogStatus) {
			s.AgentVersion = "test"
			s.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCatalogInvalid,
				Message: "catalog sha256-1 is invalid", LastTransitionTime: metav1.NewTime(w.clock.Now()),
			}}
		})
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Ready")).To(Equal("0 of 1 nodes in sync, 1 pending; n1: catalog sha256-1 is invalid"))
	})

	It("is written at once when it answers an edit or the last node has applied one", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		for _, content := range []string{"one", "two"} {
			updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = &content })
			w.reconcileAfter(ctx, 0)
			Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=False Applying"))
			reportApplied(ctx, "n1")
			w.reconcileAfter(ctx, 0)
			Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
		}
	})

	It("is otherwise written at most every five seconds, with the latest state", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), node("n2", "web"), file("a", "/a"))
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		Expect(w.reconcileAfter(ctx, 2*time.Second)).To(Equal(3 * time.Second))
		Expect(messageOf(ctx, "a", "Ready")).To(HavePrefix("0 of 2 nodes in sync"))
		w.reconcileAfter(ctx, 3*time.Second)
		Expect(messageOf(ctx, "a", "Ready")).To(HavePrefix("1 of 2 nodes in sync"))
	})

	It("is in sync if it selects no node", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, file("a", "/a"))
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=True NoNodesSelected", "Reconciling=False Settled", "Stalled=False Settled"}))
	})
})

// reportDrift reports, as an agent does, that File/a drifted a number of times and was corrected.
func reportDrift(ctx SpecContext, w *fixture, node string, count int64) {
	GinkgoHelper()
	reportApplied(ctx, node)
	setStatus(ctx, node, func(s *v1alpha1.NodeCatalogStatus) {
		s.Drift = []v1alpha1.DriftRecord{{Ref: "File/a", FirstSeen: metav1.NewTime(w.clock.Now()), LastSeen: metav1.NewTime(w.clock.Now()), Count: count, Corrected: true}}
	})
}

var _ = Describe("The drift in a resource's status", func() {
	It("sums up what its nodes report, and is written every 30 seconds at most", func(ctx SpecContext) {
		w := newFixture(withLease(time.Hour))
		create(ctx, node("n1", "web"), node("n2", "web"), node("other", "db"), file("a", "/a", on("web")))
		w.reconcile(ctx)
		for _, name := range []string{"n1", "n2", "other"} {
			reportApplied(ctx, name)
		}
		w.reconcile(ctx)
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").Drift).To(BeNil())

		reportDrift(ctx, w, "n1", 1)
		reportDrift(ctx, w, "other", 1000)
		first := w.clock.Now()
		w.reconcileAfter(ctx, time.Minute)
		Expect(*statusOf(ctx, NewWithT(GinkgoT()), "a").Drift).To(BeComparableTo(v1alpha1.ResourceDrift{Nodes: 1, Count: 1, LastSeen: metav1.NewTime(first)}))

		reportDrift(ctx, w, "n2", 5)
		second := w.clock.Now()
		Expect(w.reconcileAfter(ctx, 20*time.Second)).To(BeNumerically("<=", 10*time.Second))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").Drift.Nodes).To(Equal(int32(1)))
		w.reconcileAfter(ctx, 10*time.Second)
		Expect(*statusOf(ctx, NewWithT(GinkgoT()), "a").Drift).To(BeComparableTo(v1alpha1.ResourceDrift{Nodes: 2, Count: 6, LastSeen: metav1.NewTime(second)}))
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=True InSync", "Reconciling=False Settled", "Stalled=False Settled"}))
	})

	It("is removed with the last record, also by another manager", func(ctx SpecContext) {
		w := newFixture(withLease(time.Hour))
		create(ctx, node("n1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		reportDrift(ctx, w, "n1", 1)
		w.reconcileAfter(ctx, time.Minute)
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").Drift).NotTo(BeNil())
		setStatus(ctx, "n1", func(s *v1alpha1.NodeCatalogStatus) { s.Drift = nil })
		newFixture().reconcile(ctx)
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").Drift).To(BeNil())
	})

	It("is a condition while something else changes it again and again", func(ctx SpecContext) {
		w := newFixture(withLease(time.Hour))
		create(ctx, node("n1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		reportDrift(ctx, w, "n1", 3)
		contended := func(is bool) {
			setStatus(ctx, "n1", func(s *v1alpha1.NodeCatalogStatus) {
				s.Drift[0].Contended, s.Drift[0].Author = is, &v1alpha1.Author{PID: 7, Executable: "/usr/bin/puppet"}
			})
			w.reconcileAfter(ctx, time.Minute)
		}
		calm := []string{"Ready=True InSync", "Reconciling=False Settled", "Stalled=False Settled"}
		contended(true)
		Expect(fileConditions(ctx, "a")).To(Equal(append(slices.Clone(calm), "Contended=True RepeatedDrift")))
		all := statusOf(ctx, NewWithT(GinkgoT()), "a").Conditions
		Expect(all[len(all)-1].Message).To(HavePrefix("changed again and again by /usr/bin/puppet on node n1"))
		contended(false)
		Expect(fileConditions(ctx, "a")).To(Equal(calm))
	})

	It("is written once if the definition of the kind has no such field", func(ctx SpecContext) {
		w := newFixture(withLease(time.Hour))
		f := file("a", "/a")
		create(ctx, node("n1", "web"), f)
		w.reconcile(ctx)
		reportDrift(ctx, w, "n1", 1)
		w.reconcileAfter(ctx, time.Minute)
		Expect(k8s.Status().Patch(ctx, f, client.RawPatch(types.MergePatchType, []byte(`{"status":{"drift":null}}`)))).To(Succeed())
		w.reconcileAfter(ctx, time.Minute)
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").Drift).To(BeNil())
	})
})
