package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	reports "github.com/fettle-dev/fettle/api/reports/v1alpha1"
	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/fleet/planning"
)

var _ = Describe("A plan during a rollout", func() {
	It("names the nodes that cannot answer plans, and compares these with the newest revision", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3, func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true })
		waiting := func() map[string]string {
			base, err := f.reconciler.PlanBase(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(base.Close()).To(Succeed())
			return base.Waiting
		}
		Expect(waiting()).To(BeEmpty())
		why := "still at revision " + v1alpha1.ShortRevision(policyStatus(ctx, "default").Stable) + " by RolloutPolicy default"
		editContent(ctx, "motd", "second")
		f.settle(ctx)
		Expect(waiting()).To(Equal(map[string]string{"n00": why, "n01": why, "n02": why}))
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Paused = false })
		f.finish(ctx, "default", "second")
		Expect(waiting()).To(BeEmpty())
	})

	It("keeps in plans what nodes keep of a resource that others are in conflict with", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 2)
		create(ctx, file("other", "/etc/motd")) // conflicts
		f.finish(ctx, "default", "hello")
		base, err := f.reconciler.PlanBase(ctx)
		Expect(err).NotTo(HaveOccurred())
		proposed, err := planning.Propose(ctx, base, planning.Change{Put: []v1alpha1.Resource{file("new", "/etc/new")}, Removes: func(v1alpha1.Resource) bool { return false }})
		Expect(err).NotTo(HaveOccurred())
		groups, _ := proposed.Ask(ctx, nil, planning.Request{})
		Expect(groups).To(HaveLen(1))
		Expect(groups[0].Changes).To(HaveExactElements(reports.PlanChange{Ref: "File/new", Action: reports.ActionAdd}))
		Expect(proposed.Problems).To(BeEmpty())
	})
})
