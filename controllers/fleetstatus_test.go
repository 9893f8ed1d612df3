package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
)

func getFleet(ctx context.Context) *v1alpha1.Fleet {
	GinkgoHelper()
	var f v1alpha1.Fleet
	Expect(k8s.Get(ctx, client.ObjectKey{Name: "fleet"}, &f)).To(Succeed())
	return &f
}

var _ = Describe("The object Fleet", Serial, func() {
	var w *fixture

	BeforeEach(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, &v1alpha1.Fleet{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}))).To(Succeed())
		w = newFixture(withLease(time.Hour))
		create(ctx, node("n1", "web"), node("n2", "web"), file("a", "/a"))
		w.reconcile(ctx)
	})

	It("is created, and follows the fleet at most every ten seconds", func(ctx SpecContext) {
		created := getFleet(ctx)
		Expect(created.Status.Nodes).To(Equal(v1alpha1.FleetNodes{Total: 2, Pending: 2}))
		Expect(created.Status.Resources).To(Equal(v1alpha1.FleetResources{Total: 1, Reconciling: 1}))

		reportDrift(ctx, w, "n1", 3)
		reportApplied(ctx, "n2", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateFailed, Message: "disk full"})
		setStatus(ctx, "n2", func(s *v1alpha1.NodeCatalogStatus) { s.Counts = &v1alpha1.RunCounts{Total: 1, Failed: 1} })
		Expect(w.reconcileAfter(ctx, 9*time.Second)).To(BeNumerically("<=", time.Second))
		Expect(getFleet(ctx).ResourceVersion).To(Equal(created.ResourceVersion))
		w.reconcileAfter(ctx, time.Second)

		now := metav1.NewTime(w.clock.Now())
		Expect(getFleet(ctx).Status).To(BeComparableTo(v1alpha1.FleetStatus{
			Updated:   &now,
			Nodes:     v1alpha1.FleetNodes{Total: 2, InSync: 1, Failed: 1},
			Resources: v1alpha1.FleetResources{Total: 1, Stalled: 1},
			Drift:     v1alpha1.FleetDrift{Resources: 1, Nodes: 1, Count: 3},
			History:   []v1alpha1.FleetHour{{Hour: metav1.NewTime(now.Truncate(time.Hour)), Drifting: 1, Failed: 1}},
		}))

		setStatus(ctx, "n1", func(s *v1alpha1.NodeCatalogStatus) { s.Drift = nil })
		Expect(k8s.Delete(ctx, file("a", "/a"))).To(Succeed())
		w.reconcile(ctx)
		Expect(getFleet(ctx).Status.Drift).To(Equal(v1alpha1.FleetDrift{}))
		Expect(getFleet(ctx).Status.Resources).To(Equal(v1alpha1.FleetResources{}))
	})

	It("is not written while nothing changes, but for the hour", func(ctx SpecContext) {
		w.reconcileAfter(ctx, time.Minute)
		unchanged := getFleet(ctx)
		w.reconcileAfter(ctx, time.Minute)
		Expect(getFleet(ctx).ResourceVersion).To(Equal(unchanged.ResourceVersion))
		w.reconcileAfter(ctx, time.Hour-5*time.Minute)
		Expect(getFleet(ctx).Status.History).To(HaveLen(2))
	})

	It("is continued by the next manager, and created again after a deletion", func(ctx SpecContext) {
		w.reconcileAfter(ctx, time.Hour)
		next := newFixture(withLease(time.Hour))
		next.clock.SetTime(w.clock.Now())
		next.reconcile(ctx)
		Expect(getFleet(ctx).Status.History).To(HaveLen(2))

		Expect(k8s.Delete(ctx, getFleet(ctx))).To(Succeed())
		create(ctx, node("n3", "web"))
		next.reconcile(ctx) // finds out
		next.reconcile(ctx)
		Expect(getFleet(ctx).Status.Nodes.Total).To(Equal(int32(3)))
		Expect(getFleet(ctx).Status.History).To(HaveLen(2))
	})

	It("is deleted with the manager's role", func(ctx SpecContext) {
		Expect(k8s.Delete(ctx, getFleet(ctx))).To(Succeed())
		owner := metav1.OwnerReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "fettle-manager-kinds", UID: "u"}
		next := newFixture(func(o *controllers.Options) {
			o.Owner = func(context.Context) (*metav1.OwnerReference, error) { return &owner, nil }
		})
		next.reconcile(ctx)
		Expect(getFleet(ctx).OwnerReferences).To(Equal([]metav1.OwnerReference{owner}))
	})
})
