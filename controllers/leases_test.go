package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
)

var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// renewed is a Lease of a node that lasts 60 s; the zero time is never.
func renewed(node string, at time.Time) *coordinationv1.Lease {
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node, CreationTimestamp: metav1.NewTime(start)},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(60))},
	}
	if !at.IsZero() {
		l.Spec.RenewTime = new(metav1.NewMicroTime(at))
	}
	return l
}

// TestANodeIsSilentWhenItsLeaseIsOver follows one node, "a", through what a manager sees.
func TestANodeIsSilentWhenItsLeaseIsOver(t *testing.T) {
	t.Parallel()

	type step struct {
		at      time.Duration // since the start
		renewed time.Duration // at which the agent says that it renewed; 0: nothing is seen
		api     string        // "away" or "back": it gives no answer, or one
	}
	s := time.Second
	for name, c := range map[string]struct {
		steps  []step
		silent []time.Duration // of these times, when it is silent
		ask    []time.Duration
	}{
		"it is from the end of its time on": {
			[]step{{at: 0, renewed: s}}, []time.Duration{60 * s, 61 * s, 600 * s}, []time.Duration{0, 59 * s, 60 * s, 61 * s, 600 * s},
		},
		"each renewal is a new time": {
			[]step{{at: 0, renewed: s}, {at: 40 * s, renewed: 40 * s}}, []time.Duration{100 * s}, []time.Duration{60 * s, 99 * s, 100 * s},
		},
		"a Lease that comes again as it was is no renewal": {
			[]step{{at: 0, renewed: s}, {at: 40 * s, renewed: s}}, []time.Duration{60 * s}, []time.Duration{59 * s, 60 * s},
		},
		"it may be heard again": {
			[]step{{at: 0, renewed: s}, {at: 300 * s, renewed: 300 * s}}, []time.Duration{360 * s}, []time.Duration{300 * s, 359 * s, 360 * s},
		},
		"its clock may be an hour slow or fast": {
			[]step{{at: 0, renewed: s}, {at: 40 * s, renewed: -3600 * s}, {at: 80 * s, renewed: 3600 * s}}, []time.Duration{140 * s}, []time.Duration{100 * s, 139 * s, 140 * s},
		},
		"a manager that starts gives it a whole time": {
			[]step{{at: 500 * s, renewed: s}}, []time.Duration{560 * s}, []time.Duration{500 * s, 559 * s, 560 * s},
		},
		"but not if it was silent for ten": {
			[]step{{at: 700 * s, renewed: s}}, []time.Duration{700 * s}, []time.Duration{700 * s},
		},
		"one that never renewed has a time, too": {
			[]step{{at: 5 * s, renewed: -1}}, []time.Duration{65 * s}, []time.Duration{64 * s, 65 * s},
		},
		"while the API server is away nobody is to blame, and for a time after that": {
			[]step{{at: 0, renewed: s}, {at: 30 * s, api: "away"}, {at: 200 * s, api: "back"}},
			[]time.Duration{260 * s},
			[]time.Duration{60 * s, 199 * s, 201 * s, 259 * s, 260 * s},
		},
		"who was silent before stays so": {
			[]step{{at: 0, renewed: s}, {at: 65 * s, api: "back"}, {at: 70 * s, api: "away"}, {at: 200 * s, api: "back"}}, []time.Duration{80 * s, 199 * s, 201 * s}, []time.Duration{80 * s, 199 * s, 201 * s},
		},
		"an outage that is noticed when it is over, by who asks nothing, was one": {
			[]step{{at: 0, api: "back"}, {at: s, renewed: s}, {at: 61 * s, api: "away"}, {at: 62 * s, api: "back"}}, []time.Duration{122 * s}, []time.Duration{62 * s, 121 * s, 122 * s},
		},
		"outages that follow each other are one": {
			[]step{{at: 0, renewed: s}, {at: 30 * s, api: "away"}, {at: 50 * s, api: "back"}, {at: 61 * s, api: "away"}, {at: 90 * s, api: "back"}},
			[]time.Duration{150 * s},
			[]time.Duration{62 * s, 149 * s, 150 * s},
		},
		"an outage excuses for ten times at most": {
			[]step{{at: 0, renewed: s}, {at: 30 * s, api: "away"}}, []time.Duration{600 * s}, []time.Duration{599 * s, 600 * s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := clocktesting.NewFakePassiveClock(start)
			contact := &controllers.Contact{Clock: clock}
			fleet := &controllers.Fleet{Clock: clock}
			fleet.Listen(contact)
			var got []time.Duration
			steps := c.steps
			for _, at := range c.ask {
				for ; len(steps) > 0 && steps[0].at <= at; steps = steps[1:] {
					clock.SetTime(start.Add(steps[0].at))
					switch is := steps[0]; {
					case is.api != "":
						contact.Answer(is.api == "back")
					case is.renewed == -1:
						fleet.SeeLease(renewed("a", time.Time{}))
					default:
						fleet.SeeLease(renewed("a", start.Add(is.renewed)))
					}
				}
				clock.SetTime(start.Add(at))
				if fleet.Silent("a") {
					got = append(got, at)
				}
			}
			if diff := cmp.Diff(c.silent, got); diff != "" {
				t.Errorf("when it is silent (-want +got):\n%s", diff)
			}
			if fleet.Silent("b") {
				t.Error("a node that has no Lease is silent")
			}
		})
	}
}

func TestTheNextNodeToBecomeSilentIsTheOneHeardLongestAgo(t *testing.T) {
	t.Parallel()

	clock := clocktesting.NewFakePassiveClock(start)
	fleet := &controllers.Fleet{Clock: clock}
	if got := fleet.NextSilence(); got != 0 {
		t.Errorf("with no node it is in %s", got)
	}
	fleet.SeeLease(renewed("a", start))
	clock.SetTime(start.Add(20 * time.Second))
	fleet.SeeLease(renewed("b", start.Add(20*time.Second)))
	var got []time.Duration
	for _, at := range []time.Duration{20, 59, 60, 79, 80, 90} {
		clock.SetTime(start.Add(at * time.Second))
		got = append(got, fleet.NextSilence()/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{40, 1, 20, 1, 0, 0}, got); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
	if !fleet.SeeLease(renewed("a", start.Add(90*time.Second))) || fleet.SeeLease(renewed("a", start.Add(91*time.Second))) {
		t.Error("a pass is needed when a silent node is heard, and not at each renewal")
	}
}

// losesContact reports whether a request that begins at a time keeps a node, which renewed its
// Lease of 60 s at the start, from being silent when that is over.
func losesContact(at time.Duration, ask func(*clocktesting.FakePassiveClock, *controllers.Contact) (*http.Response, error)) bool {
	clock := clocktesting.NewFakePassiveClock(start)
	contact := &controllers.Contact{Clock: clock}
	fleet := &controllers.Fleet{Clock: clock}
	fleet.Listen(contact)
	fleet.SeeLease(renewed("a", start))
	clock.SetTime(start.Add(at))
	trip := contact.Wrap(roundTripper(func(*http.Request) (*http.Response, error) { return ask(clock, contact) }))
	if answer, err := trip.RoundTrip(&http.Request{}); err == nil {
		answer.Body.Close()
	}
	clock.SetTime(start.Add(time.Minute))
	return !fleet.Silent("a")
}

func TestContactIsLostByWhatIsNoAnswer(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		took   time.Duration
		status int
		err    error
		lost   bool
	}{
		"an answer":                       {time.Second, 200, nil, false},
		"an answer that was long to come": {2 * time.Second, 200, nil, true},
		"a refusal":                       {0, 403, nil, false},
		"too many requests":               {0, 429, nil, false},
		"no etcd":                         {0, 500, nil, true},
		"no API server at the door":       {0, 503, nil, true},
		"nobody there":                    {0, 0, errors.New("connection refused"), true},
		"a request of ours that we ended": {9 * time.Second, 0, context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := losesContact(50*time.Second, func(clock *clocktesting.FakePassiveClock, _ *controllers.Contact) (*http.Response, error) {
				clock.SetTime(clock.Now().Add(c.took))
				return &http.Response{StatusCode: c.status, Body: http.NoBody}, c.err
			})
			if got != c.lost {
				t.Errorf("that is lost contact: %t, want %t", got, c.lost)
			}
		})
	}
}

// TestContactIsLostWhereNothingIsAnsweredForLong has a request that takes 40 s, beside
// others that are answered.
func TestContactIsLostWhereNothingIsAnsweredForLong(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		others int // that are answered, one each half second from the start
		lost   bool
	}{
		"one long list among others is none":                           {80, false},
		"what was answered when it began is no sign of what came then": {1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := losesContact(0, func(clock *clocktesting.FakePassiveClock, contact *controllers.Contact) (*http.Response, error) {
				for i := range 80 {
					clock.SetTime(clock.Now().Add(time.Second / 2))
					if i < c.others {
						contact.Answer(true)
					}
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			})
			if got != c.lost {
				t.Errorf("that is lost contact: %t, want %t", got, c.lost)
			}
		})
	}
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

	It("are made for each node, by a manager that may do no more, and made again", func(ctx SpecContext) {
		startManager(false)
		web := node("web-1", "web")
		create(ctx, web, node("db-1", "db"))
		Eventually(ctx, func(g Gomega) { g.Expect(leasesOf(ctx, g)).To(And(HaveLen(2), HaveKey("db-1"))) }).Should(Succeed())
		lease := leasesOf(ctx, NewWithT(GinkgoT()))["web-1"]
		Expect(lease.OwnerReferences).To(Equal([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "web-1", UID: web.UID}}))
		Expect(*lease.Spec.LeaseDurationSeconds).To(Equal(int32(60)))
		Expect(lease.Spec.RenewTime).To(BeNil())

		By("someone who deletes one")
		Expect(k8s.Delete(ctx, &lease)).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(leasesOf(ctx, g)["web-1"].UID).NotTo(Or(BeEmpty(), Equal(lease.UID))) }).Should(Succeed())

		By("a Node that goes away: its Lease is the garbage collector's")
		Expect(k8s.Delete(ctx, web)).To(Succeed())
		Eventually(ctx, func() []string { return names(ctx, &v1alpha1.NodeCatalogList{}) }).Should(Equal([]string{"db-1"}))
		Expect(leasesOf(ctx, NewWithT(GinkgoT()))).To(HaveLen(2))

		By("a Node of that name that comes")
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

	It("cause no work while they are renewed, and last as long as the manager says", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("web-1", "web"), file("a", "/a"))
		Expect(w.pass(ctx)).To(BeNumerically(">", 0))
		lease := leasesOf(ctx, NewWithT(GinkgoT()))["web-1"]
		before := versions(ctx)
		for range 10 {
			w.clock.SetTime(w.clock.Now().Add(40 * time.Second))
			lease.Spec.RenewTime = new(metav1.NewMicroTime(w.clock.Now()))
			Expect(w.fleet.SeeLease(&lease)).To(BeFalse())
			Expect(w.fleet.Silent("web-1")).To(BeFalse())
			w.pass(ctx)
		}
		Expect(versions(ctx)).To(Equal(before))
		Expect(leasesOf(ctx, NewWithT(GinkgoT()))["web-1"].ResourceVersion).To(Equal(lease.ResourceVersion))

		w.fleet.LeaseDuration = 2 * time.Minute
		w.pass(ctx)
		lease = leasesOf(ctx, NewWithT(GinkgoT()))["web-1"]
		Expect(*lease.Spec.LeaseDurationSeconds).To(Equal(int32(120)))
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		lease.Spec.RenewTime = new(metav1.NewMicroTime(w.clock.Now()))
		w.fleet.SeeLease(&lease)
		Expect(w.fleet.NextSilence()).To(Equal(2 * time.Minute))
	})

	It("tell who is silent and who is heard again, but for what an API server that is away made of it", func(ctx SpecContext) {
		_, asked := startManager(false)
		lease := renewed("web-1", time.Now())
		lease.Namespace, lease.Spec.LeaseDurationSeconds = "fettle-nodes", new(int32(4)) // of nobody: the manager leaves it as it is
		create(ctx, lease, node("web-1", "web"), file("a", "/a"))
		renew := func() {
			GinkgoHelper()
			lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
			Expect(k8s.Update(ctx, lease)).To(Succeed())
		}
		unknown := func() int32 { return counts(ctx, "a").Unknown }
		Eventually(ctx, func(g Gomega) {
			should, _ := entries(ctx, g, "web-1")
			g.Expect(should).To(HaveKey("File/a"))
		}).WithTimeout(time.Minute).Should(Succeed())
		applied(ctx, "web-1")
		Eventually(ctx, func() []string { renew(); return said(ctx, "a") }).WithTimeout(time.Minute).Should(ContainElement("Ready=True InSync"))

		By("silence")
		Eventually(ctx, unknown).WithTimeout(time.Minute).Should(BeEquivalentTo(1))
		Expect(said(ctx, "a")).To(ContainElement(ContainSubstring("Ready=True")))
		By("a renewal")
		Eventually(ctx, func() int32 { renew(); return unknown() }).WithTimeout(time.Minute).Should(BeZero())

		By("an API server that is away for longer than the Lease lasts")
		asked.refused.Store(new("/"))
		start := len(asked.whole("PATCH"))
		Consistently(ctx, func() int { return len(asked.whole("PATCH")) }).WithTimeout(8*time.Second).Should(Equal(start), "it would write that the node is silent")
		asked.refused.Store(nil)
		Consistently(ctx, unknown).WithTimeout(3 * time.Second).Should(BeZero())
		By("silence after that, which is not excused for ten times")
		Eventually(ctx, unknown).WithTimeout(25 * time.Second).Should(BeEquivalentTo(1))

		By("an API server that keeps its watches and answers nothing")
		Eventually(ctx, func() int32 { renew(); return unknown() }).WithTimeout(time.Minute).Should(BeZero())
		asked.refused.Store(new("/api/v1/nodes"))
		Consistently(ctx, unknown).WithTimeout(8 * time.Second).Should(BeZero())
		asked.refused.Store(nil)
		Eventually(ctx, unknown).WithTimeout(time.Minute).Should(BeEquivalentTo(1))
	})

	It("of a large fleet are made a few at a time, and keep no change waiting", func(ctx SpecContext) {
		w := newWorld()
		for i := range 200 {
			create(ctx, node(fmt.Sprintf("node-%03d", i), "web"))
		}
		Expect(w.pass(ctx)).To(BeNumerically("<", time.Second))
		Expect(leasesOf(ctx, NewWithT(GinkgoT()))).To(HaveLen(160))
		w.pass(ctx)
		Expect(leasesOf(ctx, NewWithT(GinkgoT()))).To(HaveLen(200))
	})
})
