package nodeagent_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

func renewsLease(t *testing.T, m *machine) {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.AgentNamespace, Name: m.name},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(60))},
	}
	key := client.ObjectKeyFromObject(lease)
	last := func(g Gomega) time.Time {
		g.Expect(m.w.admin.Get(t.Context(), key, lease)).To(Succeed())
		g.Expect(lease.Spec.RenewTime).NotTo(BeNil())
		return lease.Spec.RenewTime.Time
	}
	renews := func(what string) {
		t.Helper()
		before := m.clock.Now()
		m.Eventually(func(g Gomega) {
			m.clock.Step(10 * time.Second)
			g.Expect(last(g)).To(BeTemporally(">", before))
		}).WithTimeout(limit).WithPolling(20*time.Millisecond).Should(Succeed(), what)
	}

	m.start() // before there is a Lease
	m.soon("it misses its Lease", func(g Gomega) {
		m.clock.Step(10 * time.Second)
		g.Expect(m.logs.String()).To(ContainSubstring("cannot renew the Lease"))
	})
	must(t, m.w.admin.Create(t.Context(), lease))
	renews("it renews the Lease that there is then")
	m.Expect(*lease.Spec.HolderIdentity).To(Equal(m.name))
	m.Expect(*lease.Spec.LeaseDurationSeconds).To(Equal(int32(60)))
	m.soon("the reason is reported", func(g Gomega) { g.Expect(m.logs.String()).To(ContainSubstring("the Lease is renewed again")) })

	m.door.lock()
	m.clock.Step(time.Minute)
	m.door.unlock()
	renews("it goes on when the API server is back")

	busy, goOn := make(chan struct{}), make(chan struct{})
	m.ran = func() { close(busy); m.ran = func() {}; <-goOn }
	m.should(fileEntry("motd", "hello\n"))
	m.Eventually(busy).WithTimeout(limit).Should(BeClosed())
	renews("it goes on while a run takes its time")
	close(goOn)

	must(t, m.w.admin.Patch(t.Context(), lease, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"leaseDurationSeconds":600}}`))))
	renews("it learns how long the Lease lasts now")
	seen := last(m)
	m.Consistently(func(g Gomega) {
		m.clock.Step(2 * time.Second)
		g.Expect(last(g)).To(Equal(seen))
	}).WithTimeout(2 * time.Second).WithPolling(20 * time.Millisecond).Should(Succeed())
	for !last(m).After(seen) {
		m.waits() // so that the clock does not run ahead of the agent
		m.clock.Step(10 * time.Second)
	}
	m.Expect(last(m)).To(BeTemporally("~", seen.Add(400*time.Second), 30*time.Second))
}
