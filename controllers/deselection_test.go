package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

var held = []string{"Ready=False DeselectionHeld", "Reconciling=False Settled", "Stalled=True DeselectionHeld"}

// three is a world of three web servers that have two Files as such, and one as any node.
func three(ctx context.Context) *world {
	GinkgoHelper()
	w := newWorld()
	create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"),
		file("a", "/a", on("web")), file("b", "/b", on("web")), file("any", "/any"))
	w.pass(ctx)
	for _, name := range []string{"n1", "n2", "n3"} {
		applied(ctx, name)
	}
	w.pass(ctx)
	w.drainEvents()
	return w
}

func rendered(template string) func(*v1alpha1.File) {
	return func(f *v1alpha1.File) { f.Spec.Content, f.Spec.ContentTemplate = nil, &template }
}

// again is a manager that is started where another one was.
func (w *world) again() *world {
	GinkgoHelper()
	next := newWorld()
	next.clock, next.fleet.Clock = w.clock, w.clock
	return next
}

func relabelAll(ctx context.Context, role string, nodes ...string) {
	GinkgoHelper()
	for _, name := range nodes {
		relabel(ctx, name, role)
	}
}

var _ = Describe("Nodes that stop being selected because they changed", func() {
	It("lose it at once where it is one", func(ctx SpecContext) {
		w := three(ctx)
		relabel(ctx, "n1", "db")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
		Expect(said(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})

	It("are held where they are two of three, keep all that they have, and lose it once that is confirmed", func(ctx SpecContext) {
		w := three(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		update(ctx, "any", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.pass(ctx)
		for _, name := range []string{"n1", "n2"} {
			Expect(has(ctx, name)).To(And(HaveLen(3), HaveKeyWithValue("File/any", `{"content":"hello\n","path":"/any"}`)))
		}
		Expect(has(ctx, "n3")).To(HaveKeyWithValue("File/any", `{"content":"changed","path":"/any"}`))
		applied(ctx, "n3")
		w.pass(ctx)
		for _, name := range []string{"a", "b"} {
			Expect(said(ctx, name)).To(Equal(held))
			Expect(messageOf(ctx, name, "Stalled")).To(HavePrefix("2 of 3 nodes would be deselected because their labels, annotations or facts changed: n1, n2. " +
				"Their updates are held until this is reverted or confirmed. To confirm: kubectl annotate file.fettle.dev " + name + " fettle.dev/confirm-deselection="))
			Expect(counts(ctx, name)).To(Equal(v1alpha1.NodeCounts{Selected: 1, InSync: 1}), "counts are of the nodes that it selects")
		}
		Expect(counts(ctx, "any")).To(Equal(v1alpha1.NodeCounts{Selected: 3, InSync: 1, Pending: 2}))
		Expect(statusOf(ctx, NewWithT(GinkgoT()), "any").Samples).To(ContainElement(v1alpha1.NodeSample{
			Node: "n1", State: v1alpha1.StatePending,
			Message: "update held until the DeselectionHeld resources are confirmed",
		}))
		Expect(w.drainEvents()).To(ContainElement(ContainSubstring("Warning ProblemFound DeselectionHeld: 2 of 3 nodes would be deselected")))
		before := versions(ctx)
		w.pass(ctx)
		Expect(versions(ctx)).To(Equal(before))

		By("a word that was not given")
		patchFile(ctx, "a", `{"metadata":{"annotations":{"fettle.dev/confirm-deselection":"yes"}}}`)
		w.pass(ctx)
		Expect(said(ctx, "a")).To(Equal(held))

		By("the word of the one, while the other is not confirmed")
		runs(ctx, commandOf(ctx, "a", "Stalled"))
		w.pass(ctx)
		Expect(said(ctx, "a")).To(ContainElement("Ready=True InSync"))
		Expect(said(ctx, "b")).To(Equal(held))
		Expect(has(ctx, "n1")).To(HaveLen(3))

		By("both words")
		runs(ctx, commandOf(ctx, "b", "Stalled"))
		w.pass(ctx)
		Expect(said(ctx, "b")).To(ContainElement("Ready=True InSync"))
		for _, name := range []string{"n1", "n2"} {
			Expect(has(ctx, name)).To(Equal(map[string]string{"File/any": `{"content":"changed","path":"/any"}`}))
		}

		By("the same nodes once more: what was confirmed was confirmed once")
		relabelAll(ctx, "web", "n1", "n2")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(3))
		relabelAll(ctx, "db", "n1", "n2")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(3))
		Expect(said(ctx, "a")).To(Equal(held))
	})

	It("are as before when the labels are put back", func(ctx SpecContext) {
		w := three(ctx)
		before := versions(ctx)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.pass(ctx)
		Expect(said(ctx, "a")).To(Equal(held))
		Expect(counts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{}))
		relabelAll(ctx, "web", "n1", "n2", "n3")
		w.pass(ctx)
		Expect(said(ctx, "a")).To(Equal([]string{"Ready=True InSync", "Reconciling=False Settled", "Stalled=False Settled"}))
		Expect(counts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 3, InSync: 3}))
		for _, name := range []string{"n1", "n2", "n3"} {
			Expect(versions(ctx)).To(HaveKeyWithValue("NodeCatalog/"+name, before["NodeCatalog/"+name]))
		}
	})

	It("go on when few enough are left", func(ctx SpecContext) {
		w := three(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		w.pass(ctx)
		relabel(ctx, "n1", "web")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(3))
		Expect(has(ctx, "n2")).To(HaveLen(1))
		Expect(said(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})

	It("are held where they change one by one, for ten minutes", func(ctx SpecContext) {
		w := three(ctx)
		relabel(ctx, "n1", "db")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
		relabel(ctx, "n2", "db")
		w.pass(ctx)
		Expect(has(ctx, "n2")).To(HaveLen(3))
		Expect(messageOf(ctx, "a", "Stalled")).To(HavePrefix("1 of 3 nodes would be deselected because their labels, annotations or facts changed: n2; 1 node lost resources in the last 10 minutes."))

		By("a pass when it is time, though nothing has happened")
		result, err := w.fleet.Reconcile(ctx, anything)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically("<=", 10*time.Minute-10*time.Second))
		w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
		_, err = w.fleet.Reconcile(ctx, anything)
		Expect(err).NotTo(HaveOccurred())
		Expect(has(ctx, "n2")).To(HaveLen(1))
		Expect(said(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})

	It("are looked at no more often than definitions while one of these is gone", func(ctx SpecContext) {
		w := three(ctx)
		relabel(ctx, "n1", "db")
		w.pass(ctx)
		relabel(ctx, "n2", "db")
		w.pass(ctx)
		Expect(said(ctx, "a")).To(Equal(held))
		w.fleet.Live = undefined{k8s}
		Expect(k8s.Delete(ctx, file("any", ""))).To(Succeed())
		w.pass(ctx)
		Expect(w.passAfter(ctx, 10*time.Minute)).To(Equal(10 * time.Second))
		Expect(has(ctx, "n2")).To(HaveLen(3))
	})

	It("are held where it is their facts", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("n1", "web"), node("n2", "web"), file("a", "/a", func(f *v1alpha1.File) { f.Spec.When = `facts.os.family == "Debian"` }))
		w.pass(ctx)
		family := func(is string) {
			GinkgoHelper()
			for _, name := range []string{"n1", "n2"} {
				reportFacts(ctx, name, map[string]any{"os": map[string]any{"family": is}})
			}
			w.pass(ctx)
		}
		family("Debian")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
		family("RedHat")
		Expect(has(ctx, "n1")).To(HaveLen(1))
		Expect(said(ctx, "a")).To(Equal(held))
		family("Debian")
		Expect(said(ctx, "a")).NotTo(Equal(held))
	})

	It("are held where what they lose is theirs alone, or withheld", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("n1", "web"), node("n2", "web"), file("waits", "/w", on("web"), requires("File/none")),
			file("own", "/own", on("web"), rendered("{{ .node.name }}")), file("broken", "/broken", on("web"), rendered("{{ .nothing }}")))
		w.pass(ctx)
		w.pass(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveKey("File/own"))
		Expect(said(ctx, "own")).To(Equal(held))
		Expect(said(ctx, "waits")).To(ContainElement("Stalled=True DeselectionHeld"))
		Expect(said(ctx, "broken")).To(ContainElement("Stalled=True DeselectionHeld"))
	})

	It("are held by a manager that was started in between, though it knows neither before nor when", func(ctx SpecContext) {
		w := three(ctx)
		relabelAll(ctx, "db", "n1", "n2")
		again := w.again()
		again.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(3))
		Expect(said(ctx, "a")).To(Equal(held))
		Expect(said(ctx, "any")).To(ContainElement("Ready=True InSync"), "what they keep is as it was")

		By("one more, that goes by what the message of the one before said")
		third := again.again()
		command := commandOf(ctx, "a", "Stalled")
		third.pass(ctx)
		Expect(commandOf(ctx, "a", "Stalled")).To(Equal(command))
		runs(ctx, command)
		runs(ctx, commandOf(ctx, "b", "Stalled"))
		third.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
	})

	It("are held though what they lose is edited meanwhile, but not where it is aimed at others", func(ctx SpecContext) {
		w := three(ctx)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		update(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.pass(ctx)
		update(ctx, "b", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(3))
		for _, name := range []string{"a", "b"} {
			update(ctx, name, func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels["role"] = "mail" })
		}
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
	})

	It("are held though somebody sets their NodeCatalogs to noop at the same time", func(ctx SpecContext) {
		w := three(ctx)
		for _, name := range []string{"n1", "n2"} {
			nc := nodeCatalog(ctx, NewWithT(GinkgoT()), name)
			nc.Spec.Noop = true
			Expect(k8s.Update(ctx, nc)).To(Succeed())
		}
		relabelAll(ctx, "db", "n1", "n2")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(3))
		Expect(said(ctx, "a")).To(Equal(held))
	})

	It("don't keep a deletion from being awaited, after a start as well", func(ctx SpecContext) {
		w := three(ctx)
		update(ctx, "b", deleted)
		w.pass(ctx)
		for _, name := range []string{"n1", "n2", "n3"} {
			applied(ctx, name)
		}
		w.pass(ctx)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.pass(ctx)
		Expect(said(ctx, "b")).To(Equal(held))
		Expect(k8s.Delete(ctx, file("b", ""))).To(Succeed())
		for _, manager := range []*world{w, w.again()} {
			manager.pass(ctx)
			Expect(messageOf(ctx, "b", "Reconciling")).To(ContainSubstring("3 nodes have yet to clean up: n1 (Pending: update held until the DeselectionHeld resources are confirmed"))
			Expect(said(ctx, "a")).To(Equal(held))
		}
	})
})

var _ = Describe("Nodes that lose something for another reason", func() {
	It("are not held where its author narrows the selector, or deletes it", func(ctx SpecContext) {
		w := three(ctx)
		update(ctx, "a", func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels["role"] = "db" })
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(2))
		Expect(k8s.Delete(ctx, file("b", ""))).To(Succeed())
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))

		By("a manager that is started after it was narrowed")
		update(ctx, "any", func(f *v1alpha1.File) { f.Spec.When = "false" })
		w.again().pass(ctx)
		Expect(has(ctx, "n1")).To(BeEmpty())
	})

	It("are not held where an edit could not be written everywhere at once", func(ctx SpecContext) {
		w := three(ctx)
		w.fleet.Client = refusing{k8s, map[string]bool{"n1": true, "n2": true}}
		update(ctx, "a", func(f *v1alpha1.File) { f.Spec.NodeSelector.MatchLabels["role"] = "db" })
		w.fleet.Invalidate()
		_, err := w.fleet.Reconcile(ctx, anything)
		Expect(err).To(MatchError(ContainSubstring("cannot patch NodeCatalog n1: refused")))
		Expect(has(ctx, "n3")).To(HaveLen(2))
		w.fleet.Client = k8s
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(2))
		Expect(said(ctx, "a")).NotTo(Equal(held))
	})

	It("are not held where what they lose waited for their first facts", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"),
			file("a", "/a", func(f *v1alpha1.File) { f.Spec.When = `facts.os.family == "RedHat"` }), file("b", "/b", requires("File/a")))
		w.pass(ctx)
		Expect(said(ctx, "b")).To(ContainElement("Reconciling=True WaitingForFacts"))
		for _, name := range []string{"n1", "n2", "n3"} {
			reportFacts(ctx, name, map[string]any{"os": map[string]any{"family": "Debian"}})
		}
		w.pass(ctx)
		Expect(said(ctx, "a")).To(ContainElement("Ready=True NoNodesSelected"))
		Expect(said(ctx, "b")).To(ContainElement("Stalled=True MissingReference"))
	})

	It("are not held where they go away themselves", func(ctx SpecContext) {
		w := three(ctx)
		for _, name := range []string{"n1", "n2", "n3"} {
			Expect(k8s.Delete(ctx, node(name, ""))).To(Succeed())
		}
		w.pass(ctx)
		Expect(names(ctx, &v1alpha1.NodeCatalogList{})).To(BeEmpty())
		Expect(said(ctx, "a")).To(ContainElement("Ready=True NoNodesSelected"))
	})

	It("are not held where all may lose something", func(ctx SpecContext) {
		w := three(ctx)
		w.fleet.MaxDeselection = new(100)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
	})
})

var _ = Describe("A running manager", func() {
	It("holds what many nodes would lose, until someone annotates it", func(ctx SpecContext) {
		startManager(false)
		create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"), file("a", "/a", on("web")))
		for _, name := range []string{"n1", "n2", "n3"} {
			Eventually(ctx, func(g Gomega) {
				got, _ := entries(ctx, g, name)
				g.Expect(got).To(HaveLen(1))
			}).WithTimeout(30 * time.Second).Should(Succeed())
		}
		Eventually(ctx, func() []string { return said(ctx, "a") }).WithTimeout(30 * time.Second).Should(ContainElement("Ready=False Applying"))
		relabelAll(ctx, "db", "n1", "n2", "n3")
		Eventually(ctx, func() []string { return said(ctx, "a") }).WithTimeout(30 * time.Second).Should(Equal(held))
		command := func() string { return commandOf(ctx, "a", "Stalled") }
		Eventually(ctx, func() string { return messageOf(ctx, "a", "Stalled") }).WithTimeout(30 * time.Second).Should(SatisfyAny(ContainSubstring("3 of 3"), ContainSubstring("2 of 3")))
		left := func() (n int) {
			for _, name := range []string{"n1", "n2", "n3"} {
				n += len(has(ctx, name))
			}
			return n
		}
		Expect(left()).To(BeNumerically(">=", 2))
		Eventually(ctx, func() int {
			runs(ctx, command())
			return left()
		}).WithTimeout(30 * time.Second).WithPolling(time.Second).Should(BeZero())
		Eventually(ctx, func() []string { return said(ctx, "a") }).WithTimeout(30 * time.Second).Should(ContainElement("Ready=True NoNodesSelected"))
	})
})

// refusing is a client that may not write some NodeCatalogs.
type refusing struct {
	client.Client
	nodes map[string]bool
}

// Patch refuses some.
func (c refusing) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, is := o.(*v1alpha1.NodeCatalog); is && c.nodes[o.GetName()] {
		return errRefused
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

// undefined is a reader of a cluster in which no kind is defined.
type undefined struct{ client.Client }

// Get finds no definition.
func (c undefined) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == "CustomResourceDefinition" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, key.Name)
	}
	return c.Client.Get(ctx, key, o, opts...)
}

var _ = Describe("Nodes that have just joined", func() {
	It("are held where their labels change with the next reconciliation", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("n1", "web"), node("n2", "web"), node("n3", "web"), file("a", "/a", on("web")))
		w.pass(ctx)
		relabelAll(ctx, "db", "n1", "n2", "n3")
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
		Expect(said(ctx, "a")).To(Equal(held))
	})
})
