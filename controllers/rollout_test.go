package controllers_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// rolloutPolicy returns a policy with the defaults, which selects nodes of a role, or every node for "".
func rolloutPolicy(name, role string, adjust ...func(*v1alpha1.RolloutPolicySpec)) *v1alpha1.RolloutPolicy {
	p := &v1alpha1.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.NodeSelector = &metav1.LabelSelector{}
	if role != "" {
		p.Spec.NodeSelector.MatchLabels = map[string]string{"role": role}
	}
	for _, a := range adjust {
		a(&p.Spec)
	}
	return p
}

func policyStatus(ctx context.Context, name string) v1alpha1.RolloutPolicyStatus {
	GinkgoHelper()
	var p v1alpha1.RolloutPolicy
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &p)).To(Succeed())
	return p.Status
}

// policyReady returns the condition Ready of a policy as "False RollingOut".
func policyReady(ctx context.Context, name string) string {
	GinkgoHelper()
	c := meta.FindStatusCondition(policyStatus(ctx, name).Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func editPolicy(ctx context.Context, name string, edit func(*v1alpha1.RolloutPolicySpec)) {
	GinkgoHelper()
	var p v1alpha1.RolloutPolicy
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &p)).To(Succeed())
	edit(&p.Spec)
	Expect(k8s.Update(ctx, &p)).To(Succeed())
}

// editContent edits a File.
func editContent(ctx context.Context, name, content string) {
	GinkgoHelper()
	var f v1alpha1.File
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &f)).To(Succeed())
	f.Spec.Content = new(content)
	Expect(k8s.Update(ctx, &f)).To(Succeed())
}

func labelControlPlane(ctx context.Context, name string) {
	GinkgoHelper()
	var n corev1.Node
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &n)).To(Succeed())
	n.Labels["node-role.kubernetes.io/control-plane"] = ""
	Expect(k8s.Update(ctx, &n)).To(Succeed())
}

// A fleet is nodes with agents that apply what they are given at once.
type rolloutFleet struct {
	*fixture
	nodes     []string
	breaks    func(node string, entries map[string]string) bool // nil for never
	unchanged bool                                              // nothing changes that is compiled
	busy      bool                                              // agents have yet to apply what they are given
	failing   v1alpha1.ReportedRef                              // what breaks: "" is File/motd
	since     map[string]metav1.Time                            // broken nodes
}

// newRolloutFleet returns a fleet in sync of some nodes of the role web, which have a File, and a policy named default.
func newRolloutFleet(ctx context.Context, nodes int, adjust ...func(*v1alpha1.RolloutPolicySpec)) *rolloutFleet {
	GinkgoHelper()
	f := &rolloutFleet{fixture: newFixture(withLease(longLease)), since: map[string]metav1.Time{}}
	for i := range nodes {
		f.nodes = append(f.nodes, fmt.Sprintf("n%02d", i))
		create(ctx, node(f.nodes[i], "web"))
	}
	create(ctx, file("motd", "/etc/motd"))
	f.settle(ctx)
	create(ctx, rolloutPolicy("default", "", adjust...))
	f.settle(ctx)
	return f
}

// newFleetUnderway returns a fleet in which the content second has begun to reach nodes.
func newFleetUnderway(ctx context.Context, nodes int) *rolloutFleet {
	GinkgoHelper()
	f := newRolloutFleet(ctx, nodes)
	editContent(ctx, "motd", "second")
	f.untilHaving(ctx, "second")
	return f
}

// newHaltedFleet returns a fleet in which a node was broken by the content bad.
func newHaltedFleet(ctx context.Context, nodes int) *rolloutFleet {
	GinkgoHelper()
	f := newRolloutFleet(ctx, nodes)
	f.breaks = breaksWith("bad")
	editContent(ctx, "motd", "bad")
	f.untilHalted(ctx)
	return f
}

// settle has agents apply what they are given until nothing happens at once.
func (f *rolloutFleet) settle(ctx context.Context) {
	GinkgoHelper()
	for range 3 {
		f.step(ctx, 10*time.Second)
	}
}

// step reconciles after some time, has agents apply what they are given, and returns when the next reconciliation is due.
func (f *rolloutFleet) step(ctx context.Context, d time.Duration) (next time.Duration) {
	GinkgoHelper()
	if f.unchanged {
		next = f.reconcileUnchangedAfter(ctx, d)
	} else {
		next = f.reconcileAfter(ctx, d)
	}
	if f.busy {
		return next
	}
	for _, name := range f.nodes {
		nc := nodeCatalog(ctx, NewWithT(GinkgoT()), name)
		if f.breaks != nil && f.breaks(name, entriesOf(ctx, name)) {
			f.fail(ctx, name)
			continue
		}
		if delete(f.since, name); nc.Status.AppliedGeneration != nc.Generation || len(nc.Status.Resources) > 0 {
			reportApplied(ctx, name)
		}
	}
	return next
}

// fail has an agent apply what it is given, but for what fails since it did first.
func (f *rolloutFleet) fail(ctx context.Context, node string) {
	GinkgoHelper()
	since, known := f.since[node]
	if !known {
		since = metav1.NewTime(f.clock.Now())
		f.since[node] = since
	}
	setStatus(ctx, node, func(s *v1alpha1.NodeCatalogStatus) { s.Counts = &v1alpha1.RunCounts{Total: 1, Failed: 1} })
	reportApplied(ctx, node, v1alpha1.ResourceReport{Ref: cmp.Or(f.failing, "File/motd"), State: v1alpha1.StateFailed, Message: "validateCmd failed", Since: &since})
}

// steps reconciles so many times, half a minute apart.
func (f *rolloutFleet) steps(ctx context.Context, n int) {
	GinkgoHelper()
	for range n {
		f.step(ctx, 30*time.Second)
	}
}

// until goes on until something is so, within a quarter of an hour, and returns when the next reconciliation is due.
func (f *rolloutFleet) until(ctx context.Context, is func() bool) (next time.Duration) {
	GinkgoHelper()
	for range 90 {
		if is() {
			return next
		}
		next = f.step(ctx, 10*time.Second)
	}
	Fail(fmt.Sprintf("it has not come to that: %+v", policyStatus(ctx, "default")))
	return 0
}

func (f *rolloutFleet) untilHaving(ctx context.Context, content string) {
	GinkgoHelper()
	f.until(ctx, func() bool { return len(f.having(ctx, content)) > 0 })
}

func (f *rolloutFleet) untilBegun(ctx context.Context) {
	GinkgoHelper()
	f.until(ctx, func() bool { return policyStatus(ctx, "default").Target != "" })
}

func (f *rolloutFleet) untilHalted(ctx context.Context) {
	GinkgoHelper()
	f.until(ctx, func() bool { return policyReady(ctx, "default") == "False RolloutHalted" })
}

// having returns the nodes that have a text in their File.
func (f *rolloutFleet) having(ctx context.Context, content string) (nodes []string) {
	GinkgoHelper()
	for _, name := range f.nodes {
		if strings.Contains(entriesOf(ctx, name)["File/motd"], content) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// finish goes on until the policy is at rest, and returns the numbers of nodes that had a text after each step, without repetitions.
func (f *rolloutFleet) finish(ctx context.Context, policy, content string) (waves []int) {
	GinkgoHelper()
	for range 100 {
		f.step(ctx, 30*time.Second)
		if n := len(f.having(ctx, content)); len(waves) == 0 || waves[len(waves)-1] != n {
			waves = append(waves, n)
		}
		if policyReady(ctx, policy) == "True RolledOut" {
			return waves
		}
	}
	Fail(fmt.Sprintf("the rollout has not ended: %+v", policyStatus(ctx, policy)))
	return nil
}

// breaksWith breaks nodes that have a text in their File.
func breaksWith(content string) func(string, map[string]string) bool {
	return func(_ string, entries map[string]string) bool { return strings.Contains(entries["File/motd"], content) }
}

var _ = Describe("A rollout", func() {
	It("reaches one node, and then four times as many as have proven the change", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 12, func(s *v1alpha1.RolloutPolicySpec) { s.MaxInFlight = new(intstr.FromString("100%")) })
		before := policyStatus(ctx, "default")
		Expect(before.Stable).NotTo(BeEmpty())
		editContent(ctx, "motd", "second")
		Expect(f.finish(ctx, "default", "second")).To(HaveExactElements(0, 1, 4, 12))
		status := policyStatus(ctx, "default")
		Expect(status.Stable).NotTo(Equal(before.Stable))
		Expect(status.Target).To(BeEmpty())
		Expect(status.History[0].Outcome).To(Equal(v1alpha1.RolloutCompleted))
		Expect(fileConditions(ctx, "motd")).To(ContainElement("Ready=True InSync"))
	})

	It("moves no node when the first policy is created", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		for _, name := range f.nodes {
			Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), name).Generation).To(Equal(int64(1)))
		}
		Expect(policyReady(ctx, "default")).To(Equal("True RolledOut"))
	})

	It("halts at the first node that fails, and brings the fix to it first", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 8)
		f.breaks = breaksWith("bad")
		editContent(ctx, "motd", "bad")
		f.steps(ctx, 20)
		broken := f.having(ctx, "bad")
		Expect(broken).To(HaveLen(1))
		Expect(policyReady(ctx, "default")).To(Equal("False RolloutHalted"))
		Expect(fileConditions(ctx, "motd")).To(ContainElements("Ready=False RolloutHalted", "Stalled=True RolloutHalted"))
		Expect(messageOf(ctx, "motd", "Stalled")).To(ContainSubstring(broken[0]))
		Expect(nodeCounts(ctx, "motd")).To(Equal(v1alpha1.NodeCounts{Selected: 8, Failed: 1, Pending: 7}))

		editContent(ctx, "motd", "fixed")
		f.untilHaving(ctx, "fixed")
		Expect(f.having(ctx, "fixed")).To(Equal(broken))
		f.finish(ctx, "default", "fixed")
		Expect(f.having(ctx, "fixed")).To(HaveLen(8))
	})

	It("is not stalled any more once a fix is there, although that has yet to begin", func(ctx SpecContext) {
		f := newHaltedFleet(ctx, 3)
		editContent(ctx, "motd", "fixed")
		f.step(ctx, time.Second)
		Expect(fileConditions(ctx, "motd")).To(ContainElements("Ready=False RollingOut", "Reconciling=True RollingOut", "Stalled=False Settled"))
		f.step(ctx, 5*time.Second)
		Expect(policyReady(ctx, "default")).To(Equal("False RollingOut"))
		Expect(f.having(ctx, "fixed")).To(BeEmpty())
	})

	It("takes a change back from the node that has it when it is reverted", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 4)
		stable := policyStatus(ctx, "default").Stable
		editContent(ctx, "motd", "second")
		f.untilHaving(ctx, "second")
		editContent(ctx, "motd", "hello\n")
		f.finish(ctx, "default", "hello")
		Expect(f.having(ctx, "hello")).To(HaveLen(4))
		Expect(policyStatus(ctx, "default").Stable).To(Equal(stable))
	})

	It("gives nodes that join the stable revision, and serves others while it is halted", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		create(ctx, file("role", "/etc/role", on("db")))
		f.finish(ctx, "default", "hello")
		f.breaks = breaksWith("bad")
		editContent(ctx, "motd", "bad")
		f.untilHalted(ctx)
		create(ctx, node("joined", "web"))
		f.step(ctx, 10*time.Second)
		Expect(entriesOf(ctx, "joined")["File/motd"]).To(ContainSubstring("hello"))

		healthy := f.nodes[0]
		if f.having(ctx, "bad")[0] == healthy {
			healthy = f.nodes[1]
		}
		relabel(ctx, healthy, "db")
		f.step(ctx, 10*time.Second)
		Expect(entriesOf(ctx, healthy)).To(And(HaveKeyWithValue("File/motd", ContainSubstring("hello")), HaveKey("File/role")))
	})

	It("does not begin while it is paused, and begins when it is resumed", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3, func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true })
		editContent(ctx, "motd", "second")
		f.steps(ctx, 10)
		Expect(f.having(ctx, "second")).To(BeEmpty())
		Expect(policyReady(ctx, "default")).To(Equal("False Paused"))
		Expect(fileConditions(ctx, "motd")).To(ContainElements("Ready=False Paused", "Reconciling=True Paused"))
		Expect(getFleet(ctx).Status.Nodes).To(Equal(v1alpha1.FleetNodes{Total: 3, InSync: 3, Waiting: 3}))
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Paused = false })
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(3))
	})

	It("reaches production once staging has completed it", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 4)
		relabel(ctx, f.nodes[0], "staging")
		relabel(ctx, f.nodes[1], "staging")
		create(ctx, rolloutPolicy("staging", "staging"))
		f.settle(ctx)
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.After = []string{"staging"} })
		editContent(ctx, "motd", "second")
		f.finish(ctx, "staging", "second")
		Expect(f.having(ctx, "second")).To(Equal(f.nodes[:2]))
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(4))
	})

	It("reaches production although another edit came meanwhile, and nothing changes after that", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 4)
		relabel(ctx, f.nodes[0], "staging")
		relabel(ctx, f.nodes[1], "staging")
		create(ctx, rolloutPolicy("staging", "staging"))
		f.settle(ctx)
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.After = []string{"staging"} })
		editContent(ctx, "motd", "second")
		f.untilHaving(ctx, "second")
		create(ctx, file("issue", "/etc/issue", on("web")))
		f.step(ctx, time.Second)
		f.unchanged = true
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(4))
		var completed []v1alpha1.RolloutOutcome
		for _, r := range policyStatus(ctx, "default").History {
			completed = append(completed, r.Outcome)
		}
		Expect(completed).To(HaveExactElements(v1alpha1.RolloutCompleted, v1alpha1.RolloutCompleted, v1alpha1.RolloutCompleted), "the first revision, second, and the issue")
	})

	It("goes on although the cache did not have its beginning when another edit was compiled", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		stale := &staleCache{Client: k8s}
		f.client.Client = stale
		stale.freeze(ctx, &v1alpha1.RolloutPolicyList{})
		editContent(ctx, "motd", "second")
		f.untilBegun(ctx)
		second := policyStatus(ctx, "default").Target
		create(ctx, file("issue", "/etc/issue"))
		f.step(ctx, time.Second)
		stale.frozen = nil
		f.unchanged = true
		for range 20 {
			f.step(ctx, 30*time.Second)
			if policyStatus(ctx, "default").Target != second {
				break
			}
		}
		Expect(policyStatus(ctx, "default").Stable).To(Equal(second))
		Expect(f.having(ctx, "second")).To(HaveLen(3))
	})

	It("is counted as missing its window if a change waited and no node got it", func(ctx SpecContext) {
		hour := func(h int) []v1alpha1.TimeRange {
			return []v1alpha1.TimeRange{v1alpha1.TimeRange(fmt.Sprintf("%02d:00-%02d:00", h, h+1))}
		}
		f := newRolloutFleet(ctx, 3, func(s *v1alpha1.RolloutPolicySpec) {
			s.Window, s.Gates = &v1alpha1.RolloutWindow{Range: hour(5)}, []string{"example.com/approved"}
		})
		unused := func() float64 { return gaugeValue(f.metrics, "fettle_rollout_window_unused") }
		editContent(ctx, "motd", "second")
		f.settle(ctx)
		Expect(unused()).To(BeZero())
		for range 40 { // to six hours after three
			f.step(ctx, 5*time.Minute)
		}
		Expect(f.having(ctx, "second")).To(BeEmpty())
		Expect(unused()).To(Equal(1.0))
	})

	It("takes a change back whatever its gates and its window say, and no other change", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		stable := policyStatus(ctx, "default").Stable
		f.breaks = breaksWith("bad")
		editContent(ctx, "motd", "bad")
		f.untilHalted(ctx)
		Expect(f.having(ctx, "bad")).To(HaveLen(1))
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) {
			s.Gates, s.Window, s.Revision = []string{"example.com/approved"}, &v1alpha1.RolloutWindow{Range: []v1alpha1.TimeRange{"23:00-23:01"}}, stable
		})
		f.settle(ctx)
		Expect(f.having(ctx, "bad")).To(BeEmpty())
		editContent(ctx, "motd", "second")
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Revision = "" })
		f.steps(ctx, 10)
		Expect(policyReady(ctx, "default")).To(Equal("False WaitingForGate"))
		Expect(f.having(ctx, "second")).To(BeEmpty())
	})

	It("does not count the failure that a fix is there to repair against the fix", func(ctx SpecContext) {
		f := newHaltedFleet(ctx, 3)
		editContent(ctx, "motd", "fixed")
		f.busy = true
		f.untilHaving(ctx, "fixed")
		for range 6 {
			f.step(ctx, 30*time.Second)
			Expect(policyReady(ctx, "default")).To(Equal("False RollingOut"))
		}
		f.busy = false
		f.finish(ctx, "default", "fixed")
		Expect(f.having(ctx, "fixed")).To(HaveLen(3))
	})

	It("does not take a node for well that a change broke which another one replaced", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		create(ctx, file("other", "/etc/other"))
		f.finish(ctx, "default", "hello")
		broken := map[string]bool{}
		f.failing, f.breaks = "File/other", func(node string, entries map[string]string) bool {
			motd := entries["File/motd"]
			broken[node] = strings.Contains(motd, "bad") || broken[node] && !strings.Contains(motd, "fixed")
			return broken[node]
		}
		editContent(ctx, "motd", "bad")
		f.untilHalted(ctx)
		create(ctx, file("issue", "/etc/issue"))
		f.steps(ctx, 10)
		Expect(policyReady(ctx, "default")).To(Equal("False RollingOut"))
		f.steps(ctx, 30)
		Expect(policyReady(ctx, "default")).To(Equal("False RolloutHalted"))
		Expect(f.having(ctx, "bad")).To(HaveLen(1))
		editContent(ctx, "motd", "fixed")
		f.finish(ctx, "default", "fixed")
		Expect(f.having(ctx, "fixed")).To(HaveLen(3))
	})

	It("is not completed by nodes that a policy may have or not", func(ctx SpecContext) {
		f := newFleetUnderway(ctx, 3)
		create(ctx, rolloutPolicy("odd", "not a label"))
		f.steps(ctx, 10)
		Expect(f.having(ctx, "second")).To(HaveLen(1))
		Expect(policyReady(ctx, "default")).To(Equal("False NodeConflict"))
		Expect(policyStatus(ctx, "default").Target).NotTo(BeEmpty())
		Expect(k8s.Delete(ctx, rolloutPolicy("odd", ""))).To(Succeed())
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(3))
	})

	It("stops if the policy is pinned to a revision that does not exist", func(ctx SpecContext) {
		f := newFleetUnderway(ctx, 3)
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Revision = "sha256-" + strings.Repeat("0", 64) })
		f.steps(ctx, 10)
		Expect(f.having(ctx, "second")).To(HaveLen(1))
		Expect(policyReady(ctx, "default")).To(Equal("False InvalidPolicy"))
	})

	It("goes on beside the NodeCatalog of a former Node, also after a restart of the manager", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		Expect(k8s.Delete(ctx, node("n02", "web"))).To(Succeed())
		create(ctx, node("n02", "web"))
		f.nodes = f.nodes[:2]
		f.fixture = restartManagerWithLongLease(f.fixture)
		editContent(ctx, "motd", "second")
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(2))
	})

	It("has one node of the control plane in flight, whatever its policy", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 4)
		for i, role := range []string{"a", "a", "b", "b"} {
			relabel(ctx, f.nodes[i], role)
			labelControlPlane(ctx, f.nodes[i])
		}
		create(ctx, rolloutPolicy("a", "a"), rolloutPolicy("b", "b"))
		f.settle(ctx)
		editContent(ctx, "motd", "second")
		f.untilHaving(ctx, "second")
		f.settle(ctx)
		Expect(f.having(ctx, "second")).To(HaveLen(1))
		f.finish(ctx, "a", "second")
		f.finish(ctx, "b", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(4))
	})

	It("does not pass a policy that does not know its nodes", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 2, func(s *v1alpha1.RolloutPolicySpec) { s.After = []string{"staging"} })
		create(ctx, rolloutPolicy("staging", "not a label"))
		f.settle(ctx)
		editContent(ctx, "motd", "second")
		f.steps(ctx, 10)
		Expect(policyReady(ctx, "staging")).To(Equal("False InvalidPolicy"))
		Expect(policyReady(ctx, "default")).To(Equal("False NodeConflict"))
		Expect(f.having(ctx, "second")).To(BeEmpty())
	})

	It("removes the request for another try of a node that has not failed", func(ctx SpecContext) {
		f := newFleetUnderway(ctx, 3)
		f.settle(ctx)
		nc := nodeCatalog(ctx, NewWithT(GinkgoT()), f.having(ctx, "second")[0])
		nc.Annotations = map[string]string{v1alpha1.AnnotationRetryRollout: policyStatus(ctx, "default").Target}
		Expect(k8s.Update(ctx, nc)).To(Succeed())
		f.step(ctx, time.Second)
		f.step(ctx, time.Second)
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), nc.Name).Annotations).To(BeEmpty())
	})

	It("begins two minutes after the first of edits that never end, and so does the one after it", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 2)
		var minutes []time.Duration
		target, first := "", f.clock.Now().Add(8*time.Second)
		for i := range 40 {
			editContent(ctx, "motd", fmt.Sprintf("edit %d", i))
			f.step(ctx, 8*time.Second)
			if is := policyStatus(ctx, "default").Target; is != target {
				target = is
				minutes = append(minutes, f.clock.Since(first).Truncate(time.Minute)/time.Minute)
			}
		}
		Expect(slices.Compact(minutes)).To(HaveExactElements(BeEquivalentTo(2), BeEquivalentTo(4)))
	})

	It("goes on at once with what waited for its end", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 2)
		editContent(ctx, "motd", "second")
		f.untilBegun(ctx)
		create(ctx, file("issue", "/etc/issue"))
		next := f.until(ctx, func() bool { return len(policyStatus(ctx, "default").History) > 0 })
		Expect(policyStatus(ctx, "default").Pending).NotTo(BeEmpty())
		Expect(next).To(BeNumerically("<=", 5*time.Second))
	})

	It("says which policy production waits for", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 2)
		relabel(ctx, f.nodes[0], "staging")
		create(ctx, rolloutPolicy("staging", "staging"))
		f.settle(ctx)
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.After = []string{"staging"} })
		editContent(ctx, "motd", "second")
		for range 4 {
			f.step(ctx, 10*time.Second)
		}
		Expect(policyReady(ctx, "default")).To(Equal("False WaitingForPolicy"))
		Expect(messageOf(ctx, "motd", "Ready")).To(ContainSubstring("staging"))
	})

	It("leaves nodes where they are that two policies select", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 2)
		create(ctx, rolloutPolicy("one", "web"), rolloutPolicy("two", "web"))
		editContent(ctx, "motd", "second")
		f.steps(ctx, 10)
		Expect(f.having(ctx, "second")).To(BeEmpty())
		Expect(policyReady(ctx, "one")).To(Equal("False NodeConflict"))
		Expect(policyReady(ctx, "two")).To(Equal("False NodeConflict"))
		Expect(k8s.Delete(ctx, rolloutPolicy("two", "web"))).To(Succeed())
		f.finish(ctx, "one", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(2))
	})

	It("reaches all nodes once there is no policy any more", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3, func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true })
		editContent(ctx, "motd", "second")
		f.settle(ctx)
		Expect(f.having(ctx, "second")).To(BeEmpty())
		Expect(k8s.Delete(ctx, rolloutPolicy("default", ""))).To(Succeed())
		f.settle(ctx)
		Expect(f.having(ctx, "second")).To(HaveLen(3))
		for _, name := range f.nodes {
			Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), name).Spec.Rollout).To(BeNil())
		}
	})

	It("keeps the former entry of a resource that has become invalid", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		create(ctx, file("other", "/etc/motd")) // conflicts
		f.finish(ctx, "default", "hello")
		Expect(f.having(ctx, "hello")).To(HaveLen(3))
		Expect(fileConditions(ctx, "other")).To(ContainElement("Stalled=True Conflict"))
		Expect(fileConditions(ctx, "motd")).To(ContainElement("Ready=True InSync"))
	})

	It("waits with a deletion for the nodes that have yet to get it", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		create(ctx, file("gone", "/etc/gone", withDeletion))
		f.finish(ctx, "default", "hello")
		f.steps(ctx, 20)
		Expect(entriesOf(ctx, "n02")).To(HaveKey("File/gone"))
		Expect(k8s.Delete(ctx, file("gone", "/etc/gone"))).To(Succeed())
		f.settle(ctx)
		Expect(messageOf(ctx, "gone", "Ready")).To(ContainSubstring("RolloutPolicy default"))
		f.finish(ctx, "default", "hello")
		f.settle(ctx)
		Expect(client.IgnoreNotFound(k8s.Get(ctx, client.ObjectKey{Name: "gone"}, &v1alpha1.File{}))).To(Succeed())
		for _, name := range f.nodes {
			Expect(entriesOf(ctx, name)).NotTo(HaveKey("File/gone"))
		}
	})

	It("admits no further node after a restart of the manager until one has soaked again", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 12, func(s *v1alpha1.RolloutPolicySpec) { s.MaxInFlight = new(intstr.FromString("100%")) })
		editContent(ctx, "motd", "second")
		for range 40 {
			f.fixture = restartManagerWithLongLease(f.fixture)
			f.step(ctx, 30*time.Second)
		}
		Expect(len(f.having(ctx, "second"))).To(BeNumerically("<=", 1))
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(12))
	})

	It("writes nothing while nothing happens", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		editContent(ctx, "motd", "second")
		f.finish(ctx, "default", "second")
		f.settle(ctx)
		var before v1alpha1.RolloutPolicy
		Expect(k8s.Get(ctx, client.ObjectKey{Name: "default"}, &before)).To(Succeed())
		generation := nodeCatalog(ctx, NewWithT(GinkgoT()), "n00").ResourceVersion
		for range 5 {
			f.step(ctx, time.Minute)
		}
		var now v1alpha1.RolloutPolicy
		Expect(k8s.Get(ctx, client.ObjectKey{Name: "default"}, &now)).To(Succeed())
		Expect(now.ResourceVersion).To(Equal(before.ResourceVersion))
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "n00").ResourceVersion).To(Equal(generation))
	})

	It("takes a node for failed if the API server rejects what it is to get", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		f.client.Client = rejectingMoves{k8s}
		editContent(ctx, "motd", "second")
		f.steps(ctx, 10)
		Expect(policyReady(ctx, "default")).To(Equal("False RolloutHalted"))
		Expect(policyStatus(ctx, "default").Failures[0].Message).To(ContainSubstring("too large"))
		Expect(f.having(ctx, "second")).To(BeEmpty())
	})

	It("tries a node again that somebody wants to try again", func(ctx SpecContext) {
		f := newHaltedFleet(ctx, 3)
		f.breaks = nil
		target, broken := policyStatus(ctx, "default").Target, f.having(ctx, "bad")[0]
		nc := nodeCatalog(ctx, NewWithT(GinkgoT()), broken)
		nc.Annotations = map[string]string{v1alpha1.AnnotationRetryRollout: target}
		Expect(k8s.Update(ctx, nc)).To(Succeed())
		f.finish(ctx, "default", "bad")
		Expect(f.having(ctx, "bad")).To(HaveLen(3))
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), broken).Annotations).NotTo(HaveKey(v1alpha1.AnnotationRetryRollout))
	})

	It("goes back to a revision that is pinned, and forward when it is not pinned any more", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		first := policyStatus(ctx, "default").Stable
		editContent(ctx, "motd", "second")
		f.finish(ctx, "default", "second")
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Revision = first })
		f.steps(ctx, 20)
		Expect(f.having(ctx, "hello")).To(HaveLen(3))
		Expect(policyReady(ctx, "default")).To(Equal("True Pinned"))
		Expect(fileConditions(ctx, "motd")).To(ContainElement("Ready=False Pinned"))
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Revision = "" })
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(3))
	})

	It("goes back at once to a revision that is pinned while somebody edits", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		first := policyStatus(ctx, "default").Stable
		editContent(ctx, "motd", "second")
		f.finish(ctx, "default", "second")
		f.step(ctx, 10*time.Second)
		editContent(ctx, "motd", "third")
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Revision = first })
		f.step(ctx, time.Second)
		Expect(policyStatus(ctx, "default").Target).To(Equal(first))
	})

	It("releases no node when Fettle is uninstalled", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3, func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true })
		editContent(ctx, "motd", "second")
		f.settle(ctx)
		f.live.Reader = beingUninstalled{k8s, "rolloutpolicies.fettle.dev"}
		Expect(k8s.Delete(ctx, rolloutPolicy("default", ""))).To(Succeed())
		f.settle(ctx)
		Expect(f.having(ctx, "second")).To(BeEmpty())
	})

	It("admits nobody with a view that is older than what another manager did", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 12)
		stale := &staleCache{Client: k8s}
		f.client.Client = stale
		stale.freeze(ctx, &v1alpha1.NodeCatalogList{}, &v1alpha1.RolloutPolicyList{})
		other := &rolloutFleet{fixture: startFixture(f.clock, f.events, withLease(longLease)), nodes: f.nodes}
		editContent(ctx, "motd", "second")
		other.untilHaving(ctx, "second")
		for range 5 {
			f.step(ctx, 10*time.Second)
		}
		Expect(f.having(ctx, "second")).To(HaveLen(1))
		stale.frozen = nil
		f.finish(ctx, "default", "second")
	})

	It("does not take the deselection that an author wrote for the nodes' own", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 6, func(s *v1alpha1.RolloutPolicySpec) { s.First = new(intstr.FromString("100%")) })
		var motd v1alpha1.File
		Expect(k8s.Get(ctx, client.ObjectKey{Name: "motd"}, &motd)).To(Succeed())
		motd.Spec.NodeSelector.MatchLabels = map[string]string{"role": "db"}
		Expect(k8s.Update(ctx, &motd)).To(Succeed())
		f.steps(ctx, 20)
		Expect(entriesOf(ctx, "n00")).To(BeEmpty())
		Expect(heldUpdate(ctx, "n00")).To(BeNil())
	})

	It("holds what nodes lose because they changed, whatever the policy", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 6)
		create(ctx, file("web", "/etc/web", on("web")))
		f.finish(ctx, "default", "hello")
		f.steps(ctx, 10)
		for _, name := range f.nodes {
			relabel(ctx, name, "db")
		}
		f.settle(ctx)
		Expect(heldUpdate(ctx, "n05")).NotTo(BeNil())
	})

	It("leaves nodes as they are whose revision was deleted, and stores the newest again", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3, func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true })
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.CatalogRevision{})).To(Succeed())
		f.settle(ctx)
		var revisions v1alpha1.CatalogRevisionList
		Expect(k8s.List(ctx, &revisions)).To(Succeed())
		Expect(revisions.Items).To(HaveLen(1))

		editContent(ctx, "motd", "second")
		f.settle(ctx)
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.CatalogRevision{})).To(Succeed())
		f.fixture = restartManagerWithLongLease(f.fixture)
		f.settle(ctx)
		Expect(f.having(ctx, "hello")).To(HaveLen(3))
		Expect(policyReady(ctx, "default")).To(Equal("False Paused"))
		editPolicy(ctx, "default", func(s *v1alpha1.RolloutPolicySpec) { s.Paused = false })
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(3))
	})

	It("goes on without nodes whose updates are held", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 6)
		create(ctx, file("web", "/etc/web", on("web")))
		f.finish(ctx, "default", "hello")
		for _, name := range f.nodes[:4] {
			relabel(ctx, name, "db")
		}
		f.settle(ctx)
		Expect(heldUpdate(ctx, "n03")).NotTo(BeNil())
		editContent(ctx, "motd", "second")
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(ContainElements("n04", "n05"))
		Expect(heldUpdate(ctx, "n03")).NotTo(BeNil())
	})

	It("does not wait for the NodeCatalog of a Node that is gone", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 2)
		create(ctx, &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: "gone"}})
		f.fixture = restartManagerWithLongLease(f.fixture)
		editContent(ctx, "motd", "second")
		f.finish(ctx, "default", "second")
		Expect(f.having(ctx, "second")).To(HaveLen(2))
	})

	It("takes nothing from nodes that a new policy takes, although others are behind", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		relabel(ctx, f.nodes[0], "staging")
		create(ctx, rolloutPolicy("staging", "staging", func(s *v1alpha1.RolloutPolicySpec) { s.Paused = true }))
		f.settle(ctx)
		Expect(k8s.Delete(ctx, rolloutPolicy("default", ""))).To(Succeed())
		f.settle(ctx)
		editContent(ctx, "motd", "second")
		f.step(ctx, time.Second)
		Expect(f.having(ctx, "second")).To(Equal(f.nodes[1:]))
		create(ctx, rolloutPolicy("default", ""))
		for range 20 { // before and after the edit counts as the last one
			f.step(ctx, 2*time.Second)
			Expect(f.having(ctx, "second")).To(Equal(f.nodes[1:]))
		}
		f.finish(ctx, "default", "second")
	})

	It("brings another value of a Secret to one node first, and gives nodes that join the present one", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 3)
		create(ctx, secret("token", "text", "first"), file("token", "/etc/token", fromSecret("token", "text")))
		for _, name := range f.nodes {
			publishKey(ctx, name)
		}
		f.finish(ctx, "default", "hello")
		sealed := func() map[string]string {
			all := map[string]string{}
			for _, name := range f.nodes {
				for _, e := range nodeCatalog(ctx, NewWithT(GinkgoT()), name).Spec.Entries {
					all[name] = string(e.Sealed[0].Value)
				}
			}
			return all
		}
		f.until(ctx, func() bool { return len(sealed()) == 3 })
		f.finish(ctx, "default", "hello")
		before := sealed()
		changedSecret := secret("token", "text", "second")
		Expect(k8s.Update(ctx, changedSecret)).To(Succeed())
		changed := func() (n int) {
			for name, value := range sealed() {
				if value != before[name] {
					n++
				}
			}
			return n
		}
		var seen []int
		for i := range 40 {
			if i%3 == 2 { // before a node can have soaked; it restores what nodes have
				f.fixture = restartManagerWithLongLease(f.fixture)
			}
			f.step(ctx, 30*time.Second)
			if n := changed(); len(seen) == 0 || seen[len(seen)-1] != n {
				seen = append(seen, n)
			}
		}
		Expect(seen).To(HaveExactElements(0, 1))
		f.finish(ctx, "default", "hello")
		Expect(changed()).To(Equal(3))
	})

	It("deletes revisions that nothing names any more", func(ctx SpecContext) {
		f := newRolloutFleet(ctx, 1, func(s *v1alpha1.RolloutPolicySpec) { s.First = new(intstr.FromString("100%")) })
		for i := range 13 {
			editContent(ctx, "motd", fmt.Sprintf("content %d", i))
			f.finish(ctx, "default", fmt.Sprintf("content %d", i))
		}
		for range 4 { // revisions, and then their Catalogs
			f.step(ctx, 2*time.Hour)
		}
		var revisions v1alpha1.CatalogRevisionList
		Expect(k8s.List(ctx, &revisions)).To(Succeed())
		Expect(revisions.Items).To(HaveLen(10), "those of the history")
		var catalogs v1alpha1.CatalogList
		Expect(k8s.List(ctx, &catalogs)).To(Succeed())
		Expect(catalogs.Items).To(HaveLen(10))
	})
})

// beingUninstalled shows a definition as being deleted.
type beingUninstalled struct {
	client.Reader
	definition string
}

// Get marks the definition as being deleted.
func (b beingUninstalled) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := b.Reader.Get(ctx, key, o, opts...)
	if err == nil && key.Name == b.definition {
		o.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	}
	return err
}

// rejectingMoves rejects NodeCatalogs of another revision.
type rejectingMoves struct{ client.Client }

// Patch rejects a patch that has the revision.
func (r rejectingMoves) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	data, err := p.Data(o)
	if _, ok := o.(*v1alpha1.NodeCatalog); ok && err == nil && strings.Contains(string(data), `"revision"`) {
		return apierrors.NewRequestEntityTooLargeError("it is too large")
	}
	return r.Client.Patch(ctx, o, p, opts...)
}
