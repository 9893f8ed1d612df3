package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// heldUpdate returns the hold of a NodeCatalog; nil if its update is not held.
func heldUpdate(ctx context.Context, name string) *v1alpha1.Held {
	GinkgoHelper()
	held := nodeCatalog(ctx, NewWithT(GinkgoT()), name).Spec.Held
	if held != nil {
		held.Since.Time = held.Since.UTC()
	}
	return held
}

// longLease is one that does not expire although no agent renews it.
const longLease = 24 * time.Hour

// restartManagerWithLongLease is restartManager with longLease.
func restartManagerWithLongLease(w *fixture) *fixture {
	GinkgoHelper()
	return restartManager(w, withLease(longLease))
}

// newWebServersWithDeletion returns a fixture with three web servers, which have applied three Files for web servers with
// deletionPolicy Delete and one for every node.
func newWebServersWithDeletion(ctx context.Context) *fixture {
	GinkgoHelper()
	w := newFixture(withLease(longLease))
	create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"), file("any", "/any"),
		file("a", "/a", on("web"), withDeletion), file("b", "/b", on("web"), withDeletion), file("c", "/c", on("web"), withDeletion))
	w.reconcile(ctx)
	applyAndReconcile(ctx, w, "n1", "n2", "n3")
	w.drainEvents()
	return w
}

// applyAndReconcile has nodes report their NodeCatalogs as applied, and reconciles.
func applyAndReconcile(ctx context.Context, w *fixture, nodes ...string) {
	GinkgoHelper()
	for _, name := range nodes {
		reportApplied(ctx, name)
	}
	w.reconcile(ctx)
}

var _ = Describe("A hold", func() {
	It("is shown by every object that it concerns, and confirmed by one command", func(ctx SpecContext) {
		w := newWebServersWithDeletion(ctx)
		relabel(ctx, "n1", "db")
		w.reconcile(ctx)

		By("the first node, which has yet to clean up")
		for _, name := range []string{"a", "b", "c"} {
			Expect(fileConditions(ctx, name)).To(Equal([]string{"Ready=False CleaningUp", "Reconciling=True CleaningUp", "Stalled=False Settled"}))
			Expect(messageOf(ctx, name, "Ready")).To(Equal("1 node was deselected and has yet to clean up: n1 (Pending: the node has yet to apply the deletion)"))
			Expect(nodeCounts(ctx, name)).To(Equal(v1alpha1.NodeCounts{Selected: 2, InSync: 2}))
		}
		applyAndReconcile(ctx, w, "n1")
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
		Expect(heldUpdate(ctx, "n1")).To(BeNil())

		By("the second node, which is held")
		relabel(ctx, "n2", "db")
		w.drainEvents()
		w.reconcile(ctx)
		since := metav1.NewTime(w.clock.Now())
		mark := &v1alpha1.Held{Since: since, Resources: []v1alpha1.ResourceRef{"File/a", "File/b", "File/c"}}
		Expect(heldUpdate(ctx, "n2")).To(Equal(mark))
		Expect(heldUpdate(ctx, "n3")).To(BeNil())
		Expect(w.drainEvents()).To(And(
			ContainElement(HavePrefix("Warning UpdateHeld update held since 2026-01-02T03:04:55Z: the node would lose File/a, File/b and 1 more, and too many nodes would be deselected")),
			ContainElement(HavePrefix("Warning DeselectionHeld 1 of 3 nodes would lose 3 resources because"))))
		w.reconcile(ctx)
		status := getFleet(ctx).Status
		Expect(status.Nodes.Held).To(Equal(int32(1)))
		Expect(status.Deselection).To(Equal(&v1alpha1.HeldDeselection{
			Token: status.Deselection.Token, Nodes: 1, Resources: 3,
			Message: "1 of 3 nodes would lose 3 resources because their labels, annotations or facts changed: n2; 1 node lost resources in the last 10 minutes. " +
				"Their updates are held until this is reverted or confirmed. To confirm all that is held (1 node, 3 resources): " +
				"kubectl annotate fleet.fettle.dev fleet fettle.dev/confirm-deselection=" + status.Deselection.Token + " --overwrite",
		}))
		for _, name := range []string{"a", "b", "c"} {
			Expect(fileConditions(ctx, name)).To(Equal(heldConditions))
		}

		By("a change of another resource")
		updateFile(ctx, "any", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		applyAndReconcile(ctx, w, "n1", "n3")
		Expect(fileConditions(ctx, "any")).To(ContainElement("Ready=False Applying"))
		Expect(messageOf(ctx, "any", "Ready")).To(Equal("2 of 3 nodes in sync, 1 pending; n2: update held since 2026-01-02T03:04:55Z: the node would lose File/a, File/b and 1 more, " +
			"and too many nodes would be deselected at once (DeselectionHeld)"))

		By("another manager")
		before := resourceVersions(ctx)
		w = restartManagerWithLongLease(w)
		w.reconcile(ctx)
		Expect(heldUpdate(ctx, "n2")).To(Equal(mark))
		Expect(getFleet(ctx).Status.Deselection.Token).To(Equal(status.Deselection.Token))
		Expect(resourceVersions(ctx)).To(HaveKeyWithValue("NodeCatalog/n2", before["NodeCatalog/n2"]))

		By("the command")
		w.drainEvents()
		runCommand(ctx, commandOf(ctx, "c", "Stalled"))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n2")).To(Equal(map[string]string{"File/any": `{"content":"changed","path":"/any"}`}))
		Expect(heldUpdate(ctx, "n2")).To(BeNil())
		Expect(w.drainEvents()).To(And(ContainElement(HavePrefix("Normal UpdateReleased")), ContainElement(HavePrefix("Normal DeselectionReleased"))))
		for _, name := range []string{"a", "b", "c"} {
			Expect(fileConditions(ctx, name)).To(ContainElements("Ready=False CleaningUp", "Stalled=False Settled"), "the file is still there")
		}
		applyAndReconcile(ctx, w, "n2")
		w.reconcile(ctx)
		for _, name := range []string{"a", "b", "c", "any"} {
			Expect(fileConditions(ctx, name)).To(Equal([]string{"Ready=True InSync", "Reconciling=False Settled", "Stalled=False Settled"}))
		}
		Expect(getFleet(ctx).Status.Deselection).To(BeNil())
		Expect(getFleet(ctx).Status.Nodes).To(Equal(v1alpha1.FleetNodes{Total: 3, InSync: 3}))

		By("the last node")
		relabel(ctx, "n3", "db")
		w.reconcileAfter(ctx, time.Hour)
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=False CleaningUp"))
		applyAndReconcile(ctx, w, "n3")
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True NoNodesSelected"))
	})

	It("grows without another write to the nodes that it holds", func(ctx SpecContext) {
		w := newWebServersWithDeletion(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		w.reconcile(ctx)
		token := commandOf(ctx, "a", "Stalled")
		before := resourceVersions(ctx)
		relabel(ctx, "n3", "db")
		w.reconcile(ctx)
		Expect(commandOf(ctx, "a", "Stalled")).NotTo(Equal(token))
		Expect(resourceVersions(ctx)).To(And(HaveKeyWithValue("NodeCatalog/n1", before["NodeCatalog/n1"]), HaveKeyWithValue("NodeCatalog/n2", before["NodeCatalog/n2"])))

		By("the command from before it grew")
		runCommand(ctx, token)
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
		Expect(entriesOf(ctx, "n1")).To(HaveLen(4))
	})

	It("leaves what people wrote into a NodeCatalog alone, and marks it again if somebody removes the mark", func(ctx SpecContext) {
		w := newWebServersWithDeletion(ctx)
		patchNodeCatalog(ctx, "n1", `{"spec":{"noop":true,"disabled":{"reason":"work"}}}`)
		relabelAll(ctx, "db", "n1", "n2")
		w.reconcile(ctx)
		token := commandOf(ctx, "a", "Stalled")
		patchNodeCatalog(ctx, "n1", `{"spec":{"held":null,"noop":false}}`)
		w.reconcile(ctx)
		Expect(heldUpdate(ctx, "n1")).NotTo(BeNil())
		Expect(commandOf(ctx, "a", "Stalled")).To(Equal(token), "nobody has to read another command")
		runCommand(ctx, token)
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "n1").Spec.Disabled).To(Equal(&v1alpha1.Disabled{Reason: "work"}))
	})

	It("keeps a resource not ready while a held node still has it", func(ctx SpecContext) {
		w := newWebServersWithDeletion(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		w.reconcile(ctx)
		updateFile(ctx, "any", func(f *v1alpha1.File) { f.Spec.DeletionPolicy, f.Spec.When = v1alpha1.DeletionDelete, "false" })
		w.reconcile(ctx)
		applyAndReconcile(ctx, w, "n3")
		Expect(fileConditions(ctx, "any")).To(Equal([]string{"Ready=False CleaningUp", "Reconciling=True CleaningUp", "Stalled=False Settled"}))
		Expect(messageOf(ctx, "any", "Ready")).To(HavePrefix("2 nodes were deselected and have yet to clean up: n1 (Pending: update held since "))
	})
})

var _ = Describe("A resource whose selector is edited", func() {
	It("is ready once the deselected nodes have cleaned up, unless it leaves things as they are", func(ctx SpecContext) {
		w := newWebServersWithDeletion(ctx)
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels["role"] = "none" })
		updateFile(ctx, "any", func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels = map[string]string{"role": "none"} })
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "any")).To(ContainElement("Ready=True NoNodesSelected"))
		Expect(fileConditions(ctx, "a")).To(ContainElements("Ready=False CleaningUp", "Reconciling=True CleaningUp"))
		applyAndReconcile(ctx, w, "n1", "n2")
		Expect(messageOf(ctx, "a", "Ready")).To(Equal("1 node was deselected and has yet to clean up: n3 (Pending: the node has yet to apply the deletion)"))
		w = restartManagerWithLongLease(w)
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Ready")).To(HavePrefix("1 node was deselected and has yet to clean up: n3 "), "another manager")
		reportApplied(ctx, "n3", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateFailed, Message: "read-only file system"})
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Ready")).To(Equal("1 node was deselected and has yet to clean up: n3 (Failed: read-only file system)"))
		applyAndReconcile(ctx, w, "n3")
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=True NoNodesSelected", "Reconciling=False Settled", "Stalled=False Settled"}))
	})
})

func patchNodeCatalog(ctx context.Context, name, patch string) {
	GinkgoHelper()
	nc := &v1alpha1.NodeCatalog{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(k8s.Patch(ctx, nc, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}
