package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func patchFleet(ctx context.Context, patch string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, getFleet(ctx), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// fleetDisabledOf returns fleetDisabled of each NodeCatalog, as "reason until" or "enabled".
func fleetDisabledOf(ctx context.Context, nodes ...string) (all []string) {
	GinkgoHelper()
	for _, name := range nodes {
		d := nodeCatalog(ctx, NewWithT(GinkgoT()), name).Spec.FleetDisabled
		switch {
		case d == nil:
			all = append(all, "enabled")
		case d.Until == nil:
			all = append(all, d.Reason)
		default:
			all = append(all, d.Reason+" "+d.Until.UTC().Format(time.RFC3339))
		}
	}
	return all
}

// reportDisabled reports, as an agent does, that runs are disabled.
func reportDisabled(ctx context.Context, node, why string) {
	GinkgoHelper()
	setStatus(ctx, node, func(s *v1alpha1.NodeCatalogStatus) {
		for _, c := range []metav1.Condition{
			{Type: "Ready", Status: "False", Reason: "Disabled", Message: why}, {Type: "Stalled", Status: "True", Reason: "Disabled", Message: why},
		} {
			meta.SetStatusCondition(&s.Conditions, c)
		}
	})
}

var _ = Describe("A Fleet that is disabled", Serial, func() {
	It("disables all nodes and nodes that join, without changing their desired state", func(ctx SpecContext) {
		w := newWebServersWithDeletion(ctx)
		patchNodeCatalog(ctx, "n1", `{"spec":{"disabled":{"reason":"by hand"}}}`)
		_, digest := entries(ctx, NewWithT(GinkgoT()), "n2")
		patchFleet(ctx, `{"spec":{"disabled":{"reason":"freeze","until":"2026-01-05T06:00:00Z"}}}`)
		w.reconcile(ctx)
		Expect(fleetDisabledOf(ctx, "n1", "n2", "n3")).To(HaveEach("freeze 2026-01-05T06:00:00Z"))
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "n1").Spec.Disabled).To(Equal(&v1alpha1.Disabled{Reason: "by hand"}))
		_, after := entries(ctx, NewWithT(GinkgoT()), "n2")
		Expect(after).To(Equal(digest))
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"), "nothing is pending for that")
		before := resourceVersions(ctx)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before))

		By("a node that joins, and a change of a resource")
		create(ctx, node("n4", "web"))
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		Expect(fleetDisabledOf(ctx, "n1", "n4")).To(HaveEach("freeze 2026-01-05T06:00:00Z"))

		By("other words without a time")
		patchFleet(ctx, `{"spec":{"disabled":{"reason":"longer","until":null}}}`)
		w.reconcile(ctx)
		Expect(fleetDisabledOf(ctx, "n1", "n2", "n3", "n4")).To(HaveEach("longer"))

		By("a deletion of the Fleet, which enables nobody")
		Expect(k8s.Delete(ctx, getFleet(ctx))).To(Succeed())
		w.reconcile(ctx)
		w.reconcile(ctx)
		Expect(getFleet(ctx).Spec.Disabled).To(Equal(&v1alpha1.Disabled{Reason: "longer"}))
		Expect(fleetDisabledOf(ctx, "n1", "n2", "n3", "n4")).To(HaveEach("longer"))

		By("another manager, and the end")
		w = restartManagerWithLongLease(w)
		w.reconcile(ctx)
		Expect(fleetDisabledOf(ctx, "n1", "n2", "n3", "n4")).To(HaveEach("longer"))
		patchFleet(ctx, `{"spec":{"disabled":null}}`)
		w.reconcile(ctx)
		Expect(fleetDisabledOf(ctx, "n1", "n2", "n3", "n4")).To(HaveEach("enabled"))
	})

	It("disables a large fleet in portions", func(ctx SpecContext) {
		w := newFixture(withLease(longLease))
		const nodes = 165
		var names []string
		for i := range nodes {
			names = append(names, fmt.Sprintf("n%03d", i))
			create(ctx, node(names[i], "web"))
		}
		w.reconcile(ctx)
		patchFleet(ctx, `{"spec":{"disabled":{"reason":"freeze"}}}`)
		count := func() (n int) {
			for _, is := range fleetDisabledOf(ctx, names...) {
				if is == "freeze" {
					n++
				}
			}
			return n
		}
		Expect(w.reconcile(ctx)).To(BeNumerically("<=", time.Second), "the others follow soon")
		Expect(count()).To(Equal(160))
		w.reconcile(ctx)
		Expect(count()).To(Equal(nodes))
	})

	It("is counted, and named by deletions that wait for its nodes", func(ctx SpecContext) {
		w := createAndApply(ctx, newFixture(withLease(longLease)), "n1", "n2")
		patchFleet(ctx, `{"spec":{"disabled":{"reason":"freeze"}}}`)
		w.reconcile(ctx)
		for _, name := range []string{"n1", "n2"} {
			reportApplied(ctx, name) // what it has is the same
			reportDisabled(ctx, name, "runs are disabled for all nodes (freeze): enable them with kubectl fettle enable --all")
		}
		w.reconcile(ctx)
		Expect(getFleet(ctx).Status.Nodes).To(Equal(v1alpha1.FleetNodes{Total: 2, Disabled: 2}))
		Expect(nodeCounts(ctx, "b")).To(Equal(v1alpha1.NodeCounts{Selected: 2, Disabled: 2}))
		Expect(fileConditions(ctx, "b")).To(ContainElement("Ready=False Disabled"))
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(HavePrefix("deletionPolicy Delete: 2 nodes have yet to clean up: " +
			"n1 (Pending: runs are disabled for all nodes (freeze): enable them with kubectl fettle enable --all), n2 (Pending: "))
	})
})
