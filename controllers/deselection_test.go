package controllers_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
)

// heldConditions are the conditions of a resource whose deselection is held.
var heldConditions = []string{"Ready=False DeselectionHeld", "Reconciling=False Settled", "Stalled=True DeselectionHeld"}

// newWebServers returns a fixture with three web servers, which have applied two Files for web servers and one for every node.
func newWebServers(ctx context.Context, adjust ...func(*controllers.Options)) *fixture {
	GinkgoHelper()
	w := newFixture(adjust...)
	create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"),
		file("a", "/a", on("web")), file("b", "/b", on("web")), file("any", "/any"))
	w.reconcile(ctx)
	for _, name := range []string{"n1", "n2", "n3"} {
		reportApplied(ctx, name)
	}
	w.reconcile(ctx)
	w.drainEvents()
	return w
}

func relabelAll(ctx context.Context, role string, nodes ...string) {
	GinkgoHelper()
	for _, name := range nodes {
		relabel(ctx, name, role)
	}
}

var _ = Describe("Nodes that are deselected because they changed", func() {
	It("lose the resource at once if it is one node", func(ctx SpecContext) {
		w := newWebServers(ctx)
		relabel(ctx, "n1", "db")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})

	It("are held if they are two of three, and lose it once it is confirmed", func(ctx SpecContext) {
		w := newWebServers(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		updateFile(ctx, "any", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		for _, name := range []string{"n1", "n2"} {
			Expect(entriesOf(ctx, name)).To(And(HaveLen(3), HaveKeyWithValue("File/any", `{"content":"hello\n","path":"/any"}`)))
		}
		Expect(entriesOf(ctx, "n3")).To(HaveKeyWithValue("File/any", `{"content":"changed","path":"/any"}`))
		reportApplied(ctx, "n3")
		w.reconcile(ctx)
		for _, name := range []string{"a", "b"} {
			Expect(fileConditions(ctx, name)).To(Equal(heldConditions))
			Expect(messageOf(ctx, name, "Stalled")).To(Equal("2 of 3 nodes would be deselected because their labels, annotations or facts changed: n1, n2. " +
				"Their updates are held until this is reverted or confirmed. To confirm all that is held (2 nodes, 2 resources): " +
				"kubectl annotate fleet.fettle.dev fleet fettle.dev/confirm-deselection=" + getFleet(ctx).Status.Deselection.Token + " --overwrite"))
			Expect(nodeCounts(ctx, name)).To(Equal(v1alpha1.NodeCounts{Selected: 1, InSync: 1}), "counts are of the nodes that it selects")
		}
		Expect(nodeCounts(ctx, "any")).To(Equal(v1alpha1.NodeCounts{Selected: 3, InSync: 1, Pending: 2}))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "any").Samples).To(ContainElement(v1alpha1.NodeSample{
			Node: "n1", State: v1alpha1.StatePending,
			Message: "update held since 2026-01-02T03:04:35Z: the node would lose File/a, File/b, and too many nodes would be deselected at once (DeselectionHeld)",
		}))
		Expect(w.drainEvents()).To(ContainElement(ContainSubstring("Warning ProblemFound DeselectionHeld: 2 of 3 nodes would be deselected")))
		before := resourceVersions(ctx)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before))

		By("a wrong token")
		runCommand(ctx, "kubectl annotate fleet.fettle.dev fleet fettle.dev/confirm-deselection=yes")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))

		By("the token of all resources")
		runCommand(ctx, commandOf(ctx, "a", "Stalled"))
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "b")).To(ContainElement("Ready=False Unknown"))
		for _, name := range []string{"n1", "n2"} {
			Expect(entriesOf(ctx, name)).To(Equal(map[string]string{"File/any": `{"content":"changed","path":"/any"}`}))
		}

		By("the same nodes once more: a token is valid for one hold")
		relabelAll(ctx, "web", "n1", "n2")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(3))
		relabelAll(ctx, "db", "n1", "n2")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(3))
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
	})

	It("are unchanged once the labels are reverted", func(ctx SpecContext) {
		w := newWebServers(ctx)
		before := map[string]v1alpha1.NodeCatalogSpec{}
		for _, name := range []string{"n1", "n2", "n3"} {
			before[name] = nodeCatalog(ctx, NewWithT(GinkgoT()), name).Spec
		}
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{}))
		relabelAll(ctx, "web", "n1", "n2", "n3")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=True InSync", "Reconciling=False Settled", "Stalled=False Settled"}))
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 3, InSync: 3}))
		for _, name := range []string{"n1", "n2", "n3"} {
			Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), name).Spec).To(Equal(before[name]))
		}
	})

	It("proceed when few enough are left", func(ctx SpecContext) {
		w := newWebServers(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		w.reconcile(ctx)
		relabel(ctx, "n1", "web")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(3))
		Expect(entriesOf(ctx, "n2")).To(HaveLen(1))
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})

	It("are held if they change one by one, for ten minutes", func(ctx SpecContext) {
		w := newWebServers(ctx)
		relabel(ctx, "n1", "db")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
		relabel(ctx, "n2", "db")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n2")).To(HaveLen(3))
		Expect(messageOf(ctx, "a", "Stalled")).To(HavePrefix("1 of 3 nodes would be deselected because their labels, annotations or facts changed: n2; 1 node lost resources in the last 10 minutes."))

		By("a scheduled reconciliation")
		result, err := w.reconciler.Reconcile(ctx, anyRequest)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically("<=", 10*time.Minute-10*time.Second))
		w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
		_, err = w.reconciler.Reconcile(ctx, anyRequest)
		Expect(err).NotTo(HaveOccurred())
		Expect(entriesOf(ctx, "n2")).To(HaveLen(1))
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})

	It("are checked no more often than definitions while a definition is missing", func(ctx SpecContext) {
		w := newWebServers(ctx)
		relabel(ctx, "n1", "db")
		w.reconcile(ctx)
		relabel(ctx, "n2", "db")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
		w.live.Reader = withoutDefinitions{k8s}
		Expect(k8s.Delete(ctx, file("any", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(w.reconcileAfter(ctx, 10*time.Minute)).To(Equal(10 * time.Second))
		Expect(entriesOf(ctx, "n2")).To(HaveLen(3))
	})

	It("are held if their facts changed", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), node("n2", "web"), file("a", "/a", func(f *v1alpha1.File) { f.Spec.When = `facts.os.family == "Debian"` }))
		w.reconcile(ctx)
		family := func(is string) {
			GinkgoHelper()
			for _, name := range []string{"n1", "n2"} {
				reportFacts(ctx, name, map[string]any{"os": map[string]any{"family": is}})
			}
			w.reconcile(ctx)
		}
		family("Debian")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
		family("RedHat")
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
		family("Debian")
		Expect(fileConditions(ctx, "a")).NotTo(Equal(heldConditions))
	})

	It("are held if they would lose rendered or withheld resources", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), node("n2", "web"), file("waits", "/w", on("web"), requires("File/none")),
			file("own", "/own", on("web"), fromTemplate("{{ .node.name }}")), file("broken", "/broken", on("web"), fromTemplate("{{ .nothing }}")))
		w.reconcile(ctx)
		w.reconcile(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveKey("File/own"))
		Expect(fileConditions(ctx, "own")).To(Equal(heldConditions))
		Expect(fileConditions(ctx, "waits")).To(ContainElement("Stalled=True DeselectionHeld"))
		Expect(fileConditions(ctx, "broken")).To(ContainElement("Stalled=True DeselectionHeld"))
	})

	It("are held by a manager that starts after the change", func(ctx SpecContext) {
		w := newWebServers(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		restarted := restartManager(w)
		restarted.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(3))
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
		Expect(fileConditions(ctx, "any")).To(ContainElement("Ready=True InSync"), "what they keep is as it was")

		By("another manager accepts the token of the previous one")
		restartedAgain := restartManager(restarted)
		command := commandOf(ctx, "a", "Stalled")
		restartedAgain.reconcile(ctx)
		Expect(commandOf(ctx, "a", "Stalled")).To(Equal(command))
		runCommand(ctx, command)
		restartedAgain.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
	})

	It("are held if the resource's content is edited, but not if its selector is", func(ctx SpecContext) {
		w := newWebServers(ctx)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		updateFile(ctx, "b", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(3))
		for _, name := range []string{"a", "b"} {
			updateFile(ctx, name, func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels["role"] = "mail" })
		}
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
	})

	It("are held if somebody sets their NodeCatalogs to noop at the same time", func(ctx SpecContext) {
		w := newWebServers(ctx)
		for _, name := range []string{"n1", "n2"} {
			nc := nodeCatalog(ctx, NewWithT(GinkgoT()), name)
			nc.Spec.Noop = true
			Expect(k8s.Update(ctx, nc)).To(Succeed())
		}
		relabelAll(ctx, "db", "n1", "n2")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(3))
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
	})

	It("still delay a deletion, also after a manager restart", func(ctx SpecContext) {
		w := newWebServers(ctx)
		updateFile(ctx, "b", withDeletion)
		w.reconcile(ctx)
		for _, name := range []string{"n1", "n2", "n3"} {
			reportApplied(ctx, name)
		}
		w.reconcile(ctx)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "b")).To(Equal(heldConditions))
		Expect(k8s.Delete(ctx, file("b", ""))).To(Succeed())
		for _, manager := range []*fixture{w, restartManager(w)} {
			manager.reconcile(ctx)
			Expect(messageOf(ctx, "b", "Reconciling")).To(ContainSubstring("3 nodes have yet to clean up: n1 (Pending: update held since 2026-01-02T03:04:55Z: the node would lose File/a, and too many nodes would be deselected at once (DeselectionHeld))"))
			Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
		}
	})
})

var _ = Describe("Nodes that lose a resource for another reason", func() {
	It("are not held if the author narrows the selector or deletes the resource", func(ctx SpecContext) {
		w := newWebServers(ctx)
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels["role"] = "db" })
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(2))
		Expect(k8s.Delete(ctx, file("b", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))

		By("a manager that starts after the selector was narrowed")
		updateFile(ctx, "any", func(f *v1alpha1.File) { f.Spec.When = "false" })
		restartManager(w).reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(BeEmpty())
	})

	It("are not held if an edit could not be written everywhere at once", func(ctx SpecContext) {
		w := newWebServers(ctx)
		w.client.Client = rejectingNodeCatalogs{k8s, map[string]bool{"n1": true, "n2": true}}
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels["role"] = "db" })
		w.reconciler.Invalidate()
		_, err := w.reconciler.Reconcile(ctx, anyRequest)
		Expect(err).To(MatchError(ContainSubstring("cannot patch NodeCatalog n1: refused")))
		Expect(entriesOf(ctx, "n3")).To(HaveLen(2))
		w.client.Client = k8s
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(2))
		Expect(fileConditions(ctx, "a")).NotTo(Equal(heldConditions))
	})

	It("are not held if the resource waited for their first facts", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"),
			file("a", "/a", func(f *v1alpha1.File) { f.Spec.When = `facts.os.family == "RedHat"` }), file("b", "/b", requires("File/a")))
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "b")).To(ContainElement("Reconciling=True WaitingForFacts"))
		for _, name := range []string{"n1", "n2", "n3"} {
			reportFacts(ctx, name, map[string]any{"os": map[string]any{"family": "Debian"}})
		}
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True NoNodesSelected"))
		Expect(fileConditions(ctx, "b")).To(ContainElement("Stalled=True MissingReference"))
	})

	It("are not held if the nodes themselves are deleted", func(ctx SpecContext) {
		w := newWebServers(ctx)
		for _, name := range []string{"n1", "n2", "n3"} {
			Expect(k8s.Delete(ctx, node(name, ""))).To(Succeed())
		}
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=True NoNodesSelected"))
	})

	It("are not held with a budget of 100 percent", func(ctx SpecContext) {
		w := newWebServers(ctx, func(o *controllers.Options) { o.MaxDeselection = new(100) })
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
	})
})

var _ = Describe("A running manager", func() {
	It("holds a mass deselection until it is confirmed", func(ctx SpecContext) {
		startManager(false)
		create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"), file("a", "/a", on("web")))
		for _, name := range []string{"n1", "n2", "n3"} {
			Eventually(ctx, func(g Gomega) {
				got, _ := entries(ctx, g, name)
				g.Expect(got).To(HaveLen(1))
			}).Should(Succeed())
		}
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Ready=False Applying"))
		relabelAll(ctx, "db", "n1", "n2", "n3")
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(Equal(heldConditions))
		command := func() string { return commandOf(ctx, "a", "Stalled") }
		Eventually(ctx, func() string { return messageOf(ctx, "a", "Stalled") }).Should(SatisfyAny(ContainSubstring("3 of 3"), ContainSubstring("2 of 3")))
		left := func() (n int) {
			for _, name := range []string{"n1", "n2", "n3"} {
				n += len(entriesOf(ctx, name))
			}
			return n
		}
		Expect(left()).To(BeNumerically(">=", 2))
		Eventually(ctx, func() int {
			runCommand(ctx, command())
			return left()
		}).WithPolling(time.Second).Should(BeZero())
		Eventually(ctx, func() []string { return fileConditions(ctx, "a") }).Should(ContainElement("Ready=True NoNodesSelected"))
	})
})

// rejectingNodeCatalogs is a client that rejects patches of some NodeCatalogs.
type rejectingNodeCatalogs struct {
	client.Client
	nodes map[string]bool
}

// Patch rejects some of them.
func (c rejectingNodeCatalogs) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, is := o.(*v1alpha1.NodeCatalog); is && c.nodes[o.GetName()] {
		return errRefused
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

var _ = Describe("An uninstallation that ends", func() {
	It("is detected even if other reconciliations happen meanwhile", func(ctx SpecContext) {
		w := newWebServers(ctx)
		w.live.Reader = withoutDefinitions{k8s}
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(3))
		w.live.Reader = k8s
		for range 3 {
			w.clock.SetTime(w.clock.Now().Add(4 * time.Second))
			_, err := w.reconciler.Reconcile(ctx, anyRequest)
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(entriesOf(ctx, "n1")).To(HaveLen(2))
	})
})

var _ = Describe("The roles of an installation that has no rollouts", func() {
	It("let a newer manager delete resources", func(ctx SpecContext) {
		w := newWebServers(ctx)
		w.live.Reader = withOlderRoles{k8s}
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(2))
	})
})

// withOlderRoles reads a cluster whose roles do not permit to read the definitions of rollouts.
type withOlderRoles struct{ client.Client }

// Get returns Forbidden for these definitions.
func (c withOlderRoles) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if strings.HasPrefix(key.Name, "rolloutpolicies.") || strings.HasPrefix(key.Name, "catalogrevisions.") {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, key.Name, errRefused)
	}
	return c.Client.Get(ctx, key, o, opts...)
}

// withoutDefinitions reads a cluster without CustomResourceDefinitions.
type withoutDefinitions struct{ client.Client }

// Get returns NotFound for each definition.
func (c withoutDefinitions) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == "CustomResourceDefinition" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, key.Name)
	}
	return c.Client.Get(ctx, key, o, opts...)
}

var _ = Describe("Nodes that have just joined", func() {
	It("are held if their labels change before the next reconciliation", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"), file("a", "/a", on("web")))
		w.reconcile(ctx)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "n1")).To(HaveLen(1))
		Expect(fileConditions(ctx, "a")).To(Equal(heldConditions))
	})
})
