package nodeagent_test

import (
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/nodeagent"
)

func saysItIsThere(t *testing.T, m *machine) {
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
	m.soon("it says so", func(g Gomega) { g.Expect(m.logs.String()).To(ContainSubstring("the Lease is renewed again")) })

	m.door.shut()
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
	renews("and renews it when two thirds are over")
	m.Expect(last(m)).To(BeTemporally("~", seen.Add(400*time.Second), 30*time.Second))
}

// TestAFleetThatLostItsAPIServerComesBackBitByBit counts what 5,000 agents ask when the
// API server was away for five minutes.
func TestAFleetThatLostItsAPIServerComesBackBitByBit(t *testing.T) {
	t.Parallel()

	const (
		agents     = 5000
		lasts      = time.Minute
		away, back = 200 * time.Second, 500 * time.Second
		end        = 800 * time.Second
		quiet      = agents / 40 // requests a second when all is well
	)
	random := rand.New(rand.NewPCG(1, 2))
	asked := map[time.Duration]int{} // by second
	var latest time.Duration         // when the last one was back
	for range agents {
		n, failures, returned := 0, 0, false
		for at := nodeagent.NextRenewal(lasts, 0, 0, random.Float64()); at < end; at += nodeagent.NextRenewal(lasts, n, failures, random.Float64()) {
			n++
			asked[at.Truncate(time.Second)]++
			failures++
			if at < away || at >= back {
				failures = 0
			}
			if at >= back && !returned {
				latest, returned = max(latest, at), true
			}
		}
	}
	most := map[string]int{}
	for at, n := range asked {
		switch {
		case at >= back:
			most["when it is back"] = max(most["when it is back"], n)
		case at >= away:
			most["while it is away"] = max(most["while it is away"], n)
		case at >= 2*lasts:
			most["when all is well"] = max(most["when all is well"], n)
		}
	}
	if n := most["when all is well"]; n > 3*quiet/2 {
		t.Errorf("agents that started together ask %d times in a second, on average it is %d", n, quiet)
	}
	if n := most["when it is back"]; n > 2*quiet {
		t.Errorf("an API server that is back is asked %d times in a second, it is %d when all is well", n, quiet)
	}
	if n := most["while it is away"]; n > 3*quiet {
		t.Errorf("one that is away is asked %d times in a second, it is %d when all is well", n, quiet)
	}
	if took := latest - back; took > lasts {
		t.Errorf("the last agent was back after %s, when its Lease was over", took)
	}
}

func TestALeaseIsRenewedInTimeToTryTwice(t *testing.T) {
	t.Parallel()

	const lasts, longest = time.Minute, 0.999999
	first := nodeagent.NextRenewal(lasts, 9, 0, longest)
	if second := nodeagent.NextRenewal(lasts, 10, 1, longest); first+second > lasts {
		t.Errorf("tried after %s and %s, it is over after %s", first, second, lasts)
	}
}
