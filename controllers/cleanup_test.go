package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

const cleanupFinalizer = v1alpha1.FinalizerCleanup

// withDeletion sets deletionPolicy Delete.
func withDeletion(f *v1alpha1.File) { f.Spec.DeletionPolicy = v1alpha1.DeletionDelete }

func finalizers(ctx context.Context, name string) []string {
	GinkgoHelper()
	var f v1alpha1.File
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &f)).To(Succeed())
	return f.Finalizers
}

func isGone(ctx context.Context, name string) bool {
	GinkgoHelper()
	err := k8s.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.File{})
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return apierrors.IsNotFound(err)
}

func patchFile(ctx context.Context, name, patch string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, file(name, ""), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// runCommand runs the kubectl command of a message.
func runCommand(ctx context.Context, command string) {
	GinkgoHelper()
	assets, err := controlplane.Assets()
	Expect(err).NotTo(HaveOccurred())
	admin := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(controlplane.WriteKubeconfig(admin, restConfig, "")).To(Succeed())
	args := strings.Fields(command)
	Expect(args[0]).To(Equal("kubectl"))
	out, err := exec.CommandContext(ctx, filepath.Join(assets, "kubectl"), append(args[1:], "--kubeconfig="+admin)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// commandOf returns the command in the message of a condition.
func commandOf(ctx context.Context, name, condition string) string {
	GinkgoHelper()
	_, command, found := strings.Cut(messageOf(ctx, name, condition), ": kubectl ")
	Expect(found).To(BeTrue())
	return "kubectl " + command
}

// newAppliedFixture returns a fixture whose nodes have applied File/a, which has deletionPolicy Delete, and File/b.
func newAppliedFixture(ctx context.Context, nodes ...string) *fixture {
	GinkgoHelper()
	return createAndApply(ctx, newFixture(), nodes...)
}

// createAndApply creates web servers, File/a with deletionPolicy Delete and File/b, and has the nodes apply them.
func createAndApply(ctx context.Context, w *fixture, nodes ...string) *fixture {
	GinkgoHelper()
	for _, name := range nodes {
		create(ctx, node(name, "web"))
	}
	create(ctx, file("a", "/a", on("web"), withDeletion), file("b", "/b"))
	w.reconcile(ctx)
	for _, name := range nodes {
		reportApplied(ctx, name)
	}
	w.reconcile(ctx)
	return w
}

// restartManager returns the fixture of a manager that takes over from another one.
func restartManager(w *fixture, adjust ...func(*controllers.Options)) *fixture {
	GinkgoHelper()
	return startFixture(w.clock, w.events, adjust...)
}

// pendingCleanups returns the resources in the cleanup list of a NodeCatalog.
func pendingCleanups(ctx context.Context, node string) (refs []v1alpha1.ResourceRef) {
	GinkgoHelper()
	for _, c := range nodeCatalog(ctx, NewWithT(GinkgoT()), node).Spec.Cleanup {
		refs = append(refs, c.Ref)
	}
	return refs
}

var _ = Describe("A resource with a deletionPolicy", func() {
	It("has a finalizer while its policy leaves nodes something to do", func(ctx SpecContext) {
		w := newFixture()
		other := file("a", "/a", withDeletion)
		other.Finalizers = []string{"example.com/mine"}
		create(ctx, other, file("b", "/b"), file("c", "/c", func(f *v1alpha1.File) { f.Spec.DeletionPolicy = v1alpha1.DeletionRestore }))
		w.reconcile(ctx)
		Expect(finalizers(ctx, "a")).To(Equal([]string{"example.com/mine", cleanupFinalizer}))
		Expect(finalizers(ctx, "b")).To(BeEmpty())
		Expect(finalizers(ctx, "c")).To(Equal([]string{cleanupFinalizer}))
		before := resourceVersions(ctx)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before))

		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.DeletionPolicy = v1alpha1.DeletionOrphan })
		updateFile(ctx, "c", func(f *v1alpha1.File) { f.Finalizers = nil })
		w.reconcile(ctx)
		Expect(finalizers(ctx, "a")).To(Equal([]string{"example.com/mine"}))
		Expect(finalizers(ctx, "c")).To(Equal([]string{cleanupFinalizer}), "somebody took it off, and it is still needed")
		patchFile(ctx, "a", `{"metadata":{"finalizers":null}}`)
	})

	It("is deleted once every node has applied the deletion, and names the nodes that it waits for", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		w.drainEvents()
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=False CleaningUp", "Reconciling=True CleaningUp", "Stalled=False Settled"}))
		Expect(messageOf(ctx, "a", "Reconciling")).To(Equal("deletionPolicy Delete: 2 nodes have yet to clean up: " +
			"n1 (Pending: the node has yet to apply the deletion), n2 (Pending: the node has yet to apply the deletion). " +
			"To delete it without waiting: kubectl annotate file.fettle.dev a fettle.dev/abandon-cleanup=true"))
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 2, Pending: 2}))
		Expect(w.drainEvents()).To(BeEmpty(), "someone asked for it")

		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Ready")).To(ContainSubstring("1 node has yet to clean up: n2 ("))
		before := resourceVersions(ctx)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before))

		reportApplied(ctx, "n2")
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("waits for a node that failed to clean up, and repeats the node's message", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		reportApplied(ctx, "n1", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateFailed, Message: "cannot remove /a: read-only file system"})
		reportApplied(ctx, "n2", v1alpha1.ResourceReport{Ref: "File/a", State: v1alpha1.StateChanged, Message: "removed"})
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n1 (Failed: cannot remove /a: read-only file system)."))
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 1, Failed: 1}))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a").Samples).To(Equal([]v1alpha1.NodeSample{
			{Node: "n1", State: v1alpha1.StateFailed, Message: "cannot remove /a: read-only file system"},
		}))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "a")).To(And(HaveField("ObservedGeneration", int64(2)), HaveField("AppliedGeneration", int64(1))))
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("does not wait for nodes that are gone, never reported, or joined during the deletion", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		create(ctx, node("quiet", "web"))
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(nodeCounts(ctx, "a").Selected).To(Equal(int32(2)))

		By("a node that joins later")
		var f v1alpha1.File
		Expect(k8s.Get(ctx, client.ObjectKey{Name: "a"}, &f)).To(Succeed())
		Eventually(ctx, time.Now).Should(BeTemporally(">", f.DeletionTimestamp.Add(time.Second)))
		create(ctx, node("late", "web"))
		w.reconcile(ctx)
		setStatus(ctx, "late", func(s *v1alpha1.NodeCatalogStatus) { s.AgentVersion = "test" })
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n2 ("))

		By("the last node goes away")
		Expect(k8s.Delete(ctx, node("n2", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("waits for a node that was deselected and has not applied that", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		relabel(ctx, "n1", "db")
		w.reconcile(ctx)
		reportApplied(ctx, "n2")
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		reportApplied(ctx, "n2")
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n1 ("))
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("waits for a node from which it was withheld, because it may have been applied before", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1")
		create(ctx, file("rival", "/a"))
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeFalse())
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("waits for a node whose status is truncated", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1")
		create(ctx, node("db-1", "db"))
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		for _, name := range []string{"n1", "db-1"} {
			reportApplied(ctx, name)
			setStatus(ctx, name, func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 1 })
		}
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n1 (Pending: the node's status was truncated; state unknown)."))
		setStatus(ctx, "n1", func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 0 })
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("is deleted at once after the command in its message", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1")
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Finalizers = append(f.Finalizers, "example.com/mine") })
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		runCommand(ctx, commandOf(ctx, "a", "Reconciling"))
		w.reconcile(ctx)
		Expect(finalizers(ctx, "a")).To(Equal([]string{"example.com/mine"}))
		patchFile(ctx, "a", `{"metadata":{"finalizers":null}}`)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1), "the node is told all the same")
	})

	It("is deleted at once if no node has it, or if it was deleted before it had the finalizer", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1")
		create(ctx, file("none", "/none", on("nobody"), withDeletion), file("quick", "/quick", withDeletion))
		Expect(k8s.Delete(ctx, file("quick", ""))).To(Succeed())
		Expect(isGone(ctx, "quick")).To(BeTrue())
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, file("none", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(isGone(ctx, "none")).To(BeTrue())
	})

	It("still waits if its policy changes after its deletion", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1")
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.DeletionPolicy = v1alpha1.DeletionOrphan })
		w.reconcile(ctx)
		Expect(finalizers(ctx, "a")).To(Equal([]string{cleanupFinalizer}))
		reportApplied(ctx, "n1")
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("does not wait for a node that never had it, whatever that reports", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1")
		create(ctx, node("liar", "db"))
		w.reconcile(ctx)
		reportApplied(ctx, "liar")
		w.reconcile(ctx)
		lies := map[string]func(*v1alpha1.NodeCatalogStatus){
			"trouble with it": func(s *v1alpha1.NodeCatalogStatus) {
				s.Resources = []v1alpha1.ResourceReport{{Ref: "File/a", State: v1alpha1.StateFailed, Message: "mine"}}
			},
			"more trouble than it can name": func(s *v1alpha1.NodeCatalogStatus) { s.Omitted = 1000 },
			"a digest that nobody knows":    func(s *v1alpha1.NodeCatalogStatus) { s.AppliedDigest = "sha256-unknown" },
			"a generation of long ago":      func(s *v1alpha1.NodeCatalogStatus) { s.AppliedGeneration = 0 },
			"that it can't go on": func(s *v1alpha1.NodeCatalogStatus) {
				s.AppliedGeneration, s.Conditions = 0, []metav1.Condition{{Type: "Stalled", Status: "True", Reason: "R", LastTransitionTime: metav1.Now()}}
			},
		}
		for name, lie := range lies {
			By(name)
			setStatus(ctx, "liar", lie)
			create(ctx, file("again", "/again", on("web"), withDeletion))
			w.reconcile(ctx)
			reportApplied(ctx, "n1")
			w.reconcile(ctx)
			relabel(ctx, "liar", "web") // once it is being deleted, the node says that it is selected
			Expect(k8s.Delete(ctx, file("again", ""))).To(Succeed())
			w.reconcile(ctx)
			Expect(messageOf(ctx, "again", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n1 ("))
			reportApplied(ctx, "n1")

			restarted := restartManager(w) // nor does one that was started meanwhile
			restarted.reconcile(ctx)
			Expect(isGone(ctx, "again")).To(BeTrue())
			relabel(ctx, "liar", "db")
			w.reconcile(ctx)
			reportApplied(ctx, "n1")
			reportApplied(ctx, "liar")
			w.reconcile(ctx)
		}
	})

	It("waits for a node that had it after a manager restart, whatever its labels are now", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		relabel(ctx, "n1", "db")
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		reportApplied(ctx, "n2")
		restarted := restartManager(w)
		restarted.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n1 ("))
		reportApplied(ctx, "n1")
		restarted.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("distinguishes a resource from a former one of the same name", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		reportApplied(ctx, "n2")
		w.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
		Expect(pendingCleanups(ctx, "n2")).To(Equal([]v1alpha1.ResourceRef{"File/a"}), "a list that is done is not written again")

		relabel(ctx, "n1", "new")
		create(ctx, file("a", "/a", on("new"), withDeletion))
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		setStatus(ctx, "n2", func(s *v1alpha1.NodeCatalogStatus) { s.AppliedGeneration = 0 })
		w.reconcile(ctx)
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n1 ("))
	})

	It("still waits after a manager restart", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		create(ctx, node("db-1", "db"))
		w.reconcile(ctx)
		reportApplied(ctx, "db-1")
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		updateFile(ctx, "b", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		reportApplied(ctx, "n1")

		restarted := restartManager(w)
		restarted.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node has yet to clean up: n2 ("))
		reportApplied(ctx, "n2")
		restarted.reconcile(ctx)
		Expect(isGone(ctx, "a")).To(BeTrue())
	})

	It("names a few nodes and counts the others", func(ctx SpecContext) {
		var all []string
		for i := range 5 {
			all = append(all, fmt.Sprintf("n%d", i))
		}
		w := newAppliedFixture(ctx, all...)
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(messageOf(ctx, "a", "Reconciling")).To(And(ContainSubstring("5 nodes have yet to clean up: n0 ("), ContainSubstring("), n2 ("), ContainSubstring(") and 2 more. To")))
		Expect(messageOf(ctx, "a", "Reconciling")).NotTo(ContainSubstring("n3"))
	})

	It("writes its status at most every five seconds while it waits", func(ctx SpecContext) {
		w := newAppliedFixture(ctx, "n1", "n2")
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		reportApplied(ctx, "n1")
		Expect(w.reconcileAfter(ctx, 2*time.Second)).To(Equal(3 * time.Second))
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("2 nodes"))
		w.reconcileAfter(ctx, 3*time.Second)
		Expect(messageOf(ctx, "a", "Reconciling")).To(ContainSubstring("1 node "))
	})
})

var _ = Describe("A running manager and deleted resources", func() {
	It("reacts to deletions, finalizers and its annotation, and to no other metadata", func(ctx SpecContext) {
		_, recorded := startManager(false)
		create(ctx, node("n1", "web"), file("a", "/a", withDeletion), file("b", "/b", withDeletion))
		Eventually(ctx, func() []string { return finalizers(ctx, "b") }).Should(Equal([]string{cleanupFinalizer}))
		Eventually(ctx, func() []string { return listNames(ctx, &v1alpha1.NodeCatalogList{}) }).Should(Equal([]string{"n1"}))
		reportApplied(ctx, "n1")
		for _, name := range []string{"a", "b"} {
			Eventually(ctx, func() []string { return fileConditions(ctx, name) }).Should(ContainElement("Ready=True InSync"))
		}

		By("an unrelated annotation")
		Expect(recorded.awaitQuiet(ctx, k8s)).To(Succeed())
		start := len(recorded.matching(""))
		patchFile(ctx, "a", `{"metadata":{"annotations":{"example.com/x":"1"},"labels":{"x":"1"}}}`)
		Consistently(ctx, func() []string { return recorded.matching("")[start:] }).WithTimeout(time.Second).Should(BeEmpty())

		By("somebody removes the finalizer")
		patchFile(ctx, "a", `{"metadata":{"finalizers":null}}`)
		Eventually(ctx, func() []string { return finalizers(ctx, "a") }).Should(Equal([]string{cleanupFinalizer}))

		By("a completed deletion, and an abandoned one")
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		Eventually(ctx, func() map[string]string { return entriesOf(ctx, "n1") }).Should(HaveLen(1))
		reportApplied(ctx, "n1")
		Eventually(ctx, func() bool { return isGone(ctx, "a") }).Should(BeTrue())
		Expect(k8s.Delete(ctx, file("b", ""))).To(Succeed())
		Eventually(ctx, func() []string { return fileConditions(ctx, "b") }).Should(ContainElement("Reconciling=True CleaningUp"))
		runCommand(ctx, commandOf(ctx, "b", "Reconciling"))
		Eventually(ctx, func() bool { return isGone(ctx, "b") }).Should(BeTrue())
	})

	It("publishes even if it cannot add a finalizer", func(ctx SpecContext) {
		w := newFixture()
		w.client.Client = rejectingFinalizers{k8s}
		create(ctx, node("n1", "web"), file("a", "/a", withDeletion), file("b", "/b"))
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		_, err := w.reconciler.Reconcile(ctx, anyRequest)
		Expect(err).To(MatchError(ContainSubstring("cannot change finalizers of File/a: refused")))
		Expect(entriesOf(ctx, "n1")).To(HaveLen(2))
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=False Applying"))
	})

	It("preserves finalizers of others while its cache is stale", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, file("a", "/a", withDeletion))
		late := &frozenFiles{Client: k8s}
		Expect(k8s.List(ctx, &late.files)).To(Succeed())
		patchFile(ctx, "a", `{"metadata":{"finalizers":["example.com/mine"]}}`)
		w.client.Client = late
		Expect(w.reconcile(ctx)).To(Equal(time.Second))
		Expect(finalizers(ctx, "a")).To(Equal([]string{"example.com/mine"}))
		w.client.Client = k8s
		w.reconcile(ctx)
		Expect(finalizers(ctx, "a")).To(Equal([]string{"example.com/mine", cleanupFinalizer}))
		patchFile(ctx, "a", `{"metadata":{"finalizers":null}}`)
	})
})

var errRefused = errors.New("refused")

// rejectingFinalizers is a client that rejects patches of resources, and so of their finalizers.
type rejectingFinalizers struct{ client.Client }

// Patch rejects resources.
func (c rejectingFinalizers) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, written := o.(v1alpha1.Resource); written {
		return errRefused
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

// frozenFiles is a client whose cache of Files is stale.
type frozenFiles struct {
	client.Client
	files v1alpha1.FileList
}

// List reads from the cache.
func (c *frozenFiles) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if out, ok := list.(*v1alpha1.FileList); ok {
		c.files.DeepCopyInto(out)
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}
