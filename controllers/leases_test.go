package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// renew has the agent of a node renew its Lease, and the manager see that.
func (w *fixture) renew(ctx context.Context, node string) {
	GinkgoHelper()
	w.renewAt(ctx, node, w.clock.Now())
}

// renewAt has the manager see now that the agent renewed its Lease at a time.
func (w *fixture) renewAt(ctx context.Context, node string, at time.Time) {
	GinkgoHelper()
	w.reconciler.Heartbeats.Observe(renewUnseen(ctx, node, at), w.clock.Now())
}

// renewUnseen has the agent of a node renew its Lease while the manager's watch is interrupted. A Lease that does not exist yet
// lasts for 60 s.
func renewUnseen(ctx context.Context, node string, at time.Time) *coordinationv1.Lease {
	GinkgoHelper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: node}}
	_, err := controllerutil.CreateOrUpdate(ctx, k8s, lease, func() error {
		lease.Spec.RenewTime = new(metav1.NewMicroTime(at))
		if lease.Spec.LeaseDurationSeconds == nil {
			lease.Spec.LeaseDurationSeconds = new(int32(60))
		}
		return nil
	})
	Expect(err).NotTo(HaveOccurred())
	return lease
}

var _ = Describe("Leases", func() {
	leasesOf := func(ctx context.Context, g Gomega) map[string]coordinationv1.Lease {
		var list coordinationv1.LeaseList
		g.Expect(k8s.List(ctx, &list, client.InNamespace("fettle-nodes"))).To(Succeed())
		all := map[string]coordinationv1.Lease{}
		for _, l := range list.Items {
			all[l.Name] = l
		}
		return all
	}

	It("are created for each node, and created again if they are deleted", func(ctx SpecContext) {
		startManager(false)
		web := node("web-1", "web")
		create(ctx, web, node("db-1", "db"))
		Eventually(ctx, func(g Gomega) { g.Expect(leasesOf(ctx, g)).To(And(HaveLen(2), HaveKey("db-1"))) }).Should(Succeed())
		lease := leasesOf(ctx, NewWithT(GinkgoT()))["web-1"]
		Expect(lease.OwnerReferences).To(Equal([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "web-1", UID: web.UID}}))
		Expect(*lease.Spec.LeaseDurationSeconds).To(Equal(int32(60)))
		Expect(lease.Spec.RenewTime).To(BeNil())

		By("somebody deletes one")
		Expect(k8s.Delete(ctx, &lease)).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(leasesOf(ctx, g)["web-1"].UID).NotTo(Or(BeEmpty(), Equal(lease.UID))) }).Should(Succeed())

		By("a Node is deleted: its Lease and NodeCatalog are left to the garbage collector")
		Expect(k8s.Delete(ctx, web)).To(Succeed())
		Consistently(ctx, func() []string { return listNames(ctx, &v1alpha1.NodeCatalogList{}) }).Should(HaveLen(2), "as is its NodeCatalog")
		Expect(leasesOf(ctx, NewWithT(GinkgoT()))).To(HaveLen(2))

		By("a Node of the same name joins")
		create(ctx, node("web-1", "web"))
		gone := leasesOf(ctx, NewWithT(GinkgoT()))["web-1"]
		Expect(k8s.Delete(ctx, &gone)).To(Succeed()) // as the garbage collector does
		Eventually(ctx, func(g Gomega) {
			now := node("web-1", "")
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(now), now)).To(Succeed())
			is := leasesOf(ctx, g)["web-1"]
			g.Expect(is.OwnerReferences).To(HaveLen(1))
			g.Expect(is.OwnerReferences[0].UID).To(Equal(now.UID))
		}).Should(Succeed())
	})

	It("cause no work while they are renewed, and have the manager's duration", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		before := resourceVersions(ctx)
		for range 10 {
			w.clock.SetTime(w.clock.Now().Add(40 * time.Second))
			w.renew(ctx, "web-1")
			Expect(w.reconciler.Heartbeats.Silent("web-1")).To(BeFalse())
			w.reconcile(ctx)
		}
		Expect(resourceVersions(ctx)).To(Equal(before))

		w = restartManager(w, withLease(2*time.Minute))
		w.renew(ctx, "web-1")
		w.reconcile(ctx)
		Expect(*leasesOf(ctx, NewWithT(GinkgoT()))["web-1"].Spec.LeaseDurationSeconds).To(Equal(int32(120)))
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		w.renew(ctx, "web-1")
		Expect(w.reconciler.Heartbeats.Overdue(w.clock.Now().Add(2*time.Minute - time.Second))).To(BeEmpty())
		Expect(w.reconciler.Heartbeats.Overdue(w.clock.Now().Add(2 * time.Minute))).To(ConsistOf("web-1"))
	})

	It("show which agents are silent, unless the API server is unreachable", func(ctx SpecContext) {
		_, recorded := startManager(false)
		lease := &coordinationv1.Lease{ // of nobody: the manager leaves it as it is
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: "web-1"},
			Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(4))},
		}
		create(ctx, lease, node("web-1", "web"), file("a", "/a"))
		renew := func() {
			GinkgoHelper()
			lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
			Expect(k8s.Update(ctx, lease)).To(Succeed())
		}
		unknown := func() int32 { return nodeCounts(ctx, "a").Unknown }
		Eventually(ctx, func(g Gomega) {
			should, _ := entries(ctx, g, "web-1")
			g.Expect(should).To(HaveKey("File/a"))
		}).Should(Succeed())
		reportApplied(ctx, "web-1")
		Eventually(ctx, func() []string { renew(); return fileConditions(ctx, "a") }).Should(ContainElement("Ready=True InSync"))

		By("silence")
		Eventually(ctx, unknown).Should(BeEquivalentTo(1))
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=False Unknown"))
		since := func() string {
			return nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Annotations[v1alpha1.AnnotationSilentSince]
		}
		Eventually(ctx, since).Should(Equal(lease.Spec.RenewTime.UTC().Format(time.RFC3339)))
		By("a renewal")
		Eventually(ctx, func() string { renew(); return since() }).Should(BeEmpty())

		// refuse has requests refused from a moment on at which the node is not silent, as it may be at once on a busy machine.
		refuse := func(part string) {
			GinkgoHelper()
			for recorded.refused.Store(&part); unknown() > 0; recorded.refused.Store(&part) {
				recorded.refused.Store(nil)
				Eventually(ctx, func() int32 { renew(); return unknown() }).Should(BeZero())
			}
		}
		By("an API server that is unreachable for longer than a Lease lasts")
		refuse("/")
		start := len(recorded.matching("PATCH"))
		Consistently(ctx, func() int { return len(recorded.matching("PATCH")) }).WithTimeout(8*time.Second).Should(Equal(start), "it would write that the node is silent")
		reachable := time.Now()
		recorded.refused.Store(nil)
		By("silence after the outage")
		Eventually(ctx, unknown).Should(BeEquivalentTo(1))
		Expect(time.Since(reachable)).To(BeNumerically(">", 3*time.Second))

		By("an API server that keeps watches open and answers nothing")
		refuse("/api/v1/nodes")
		Consistently(ctx, unknown).WithTimeout(8 * time.Second).Should(BeZero())
		recorded.refused.Store(nil)
		Eventually(ctx, unknown).Should(BeEquivalentTo(1))
	})

	It("count as renewed while the manager's watch is interrupted", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), node("web-2", "web"))
		w.reconcile(ctx)
		w.renew(ctx, "web-1")
		w.renew(ctx, "web-2")
		w.clock.SetTime(w.clock.Now().Add(50 * time.Second))
		renewUnseen(ctx, "web-1", w.clock.Now())
		w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
		Expect(w.reconciler.CheckHeartbeats(ctx)).To(BeTrue())
		Expect(w.reconciler.Heartbeats.Silent("web-1")).To(BeFalse())
		Expect(w.reconciler.Heartbeats.Silent("web-2")).To(BeTrue())

		By("the silent one renews it, which shows when the other seems to be silent")
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		renewUnseen(ctx, "web-1", w.clock.Now())
		renewUnseen(ctx, "web-2", w.clock.Now())
		Expect(w.reconciler.CheckHeartbeats(ctx)).To(BeTrue())
		Expect(w.reconciler.Heartbeats.Silent("web-2")).To(BeFalse())
		Expect(w.reconciler.CheckHeartbeats(ctx)).To(BeFalse())
	})

	It("of a large fleet are created a few at a time, without delaying changes", func(ctx SpecContext) {
		w := newFixture()
		for i := range 200 {
			create(ctx, node(fmt.Sprintf("node-%03d", i), "web"))
		}
		Expect(w.reconcile(ctx)).To(BeNumerically("<", time.Second))
		Expect(leasesOf(ctx, NewWithT(GinkgoT()))).To(HaveLen(160))
		w.reconcile(ctx)
		Expect(leasesOf(ctx, NewWithT(GinkgoT()))).To(HaveLen(200))
	})
})
