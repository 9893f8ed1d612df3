package controllers_test

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/controllers"
)

var _ = Describe("Nodes soak", func() {
	DescribeTable("at least for as long as Leases need to expire", func(lease, least time.Duration) {
		Expect(controllers.LeastSoak(lease)).To(Equal(least))
	},
		Entry("which the API ensures for short ones", 10*time.Second, time.Duration(0)),
		Entry("and for those of the default duration", time.Minute, time.Duration(0)),
		Entry("long ones", 5*time.Minute, 5*time.Minute+30*time.Second),
	)

	It("until a silence would have shown, whatever the duration of Leases", func(ctx SpecContext) {
		const lease = 5 * time.Minute
		f := &rolloutFleet{fixture: newFixture(withLease(lease), func(o *controllers.Options) { o.LeastSoak = controllers.LeastSoak(lease) })}
		f.nodes = []string{"n00", "n01", "n02"}
		for _, name := range f.nodes {
			create(ctx, node(name, "web"))
		}
		create(ctx, file("motd", "/etc/motd"), rolloutPolicy("default", ""))
		f.settle(ctx)
		for _, name := range f.nodes { // the manager has created their Leases
			f.renew(ctx, name)
		}

		By("a change silences the agents that apply it")
		editContent(ctx, "motd", "second")
		for range 14 {
			f.step(ctx, 30*time.Second)
			for _, name := range f.nodes {
				if !slices.Contains(f.having(ctx, "second"), name) {
					f.renew(ctx, name)
				}
			}
			Expect(policyStatus(ctx, "default").Nodes.Proven).To(BeZero())
		}
		Expect(f.having(ctx, "second")).To(HaveLen(1))
		Expect(policyReady(ctx, "default")).To(Equal("False RolloutHalted"))
		Expect(policyStatus(ctx, "default").Failures[0].Reason).To(Equal("Silent"))
	})
})
