package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

var _ = Describe("The fleet", func() {
	It("gives nodes with equal targeting one shared Catalog, and each a NodeCatalog owned by its Node", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), node("web-2", "web"), node("db-1", "db"), file("a", "/a", on("web")), file("b", "/b", on("web")))
		w.reconcile(ctx)

		g := NewWithT(GinkgoT())
		Expect(nodeCatalog(ctx, g, "web-1").Spec).To(Equal(nodeCatalog(ctx, g, "web-2").Spec))
		Expect(nodeCatalog(ctx, g, "web-1").Spec.Catalogs).To(HaveLen(1))
		Expect(entriesOf(ctx, "web-1")).To(Equal(map[string]string{"File/a": `{"content":"hello\n","path":"/a"}`, "File/b": `{"content":"hello\n","path":"/b"}`}))
		Expect(nodeCatalog(ctx, g, "db-1").Spec).To(BeZero())
		owner := nodeCatalog(ctx, g, "web-1").OwnerReferences
		Expect(owner).To(HaveLen(1))
		Expect(owner[0]).To(And(HaveField("Kind", "Node"), HaveField("Name", "web-1")))
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=False Applying", "Reconciling=True Applying", "Stalled=False Settled"}))
	})

	It("writes nothing if nothing changed", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), configMap("motd", "text", "<b>"), file("a", "/a", fromConfigMap("motd", "text")),
			file("own", "/own", func(f *v1alpha1.File) { f.Spec.Content, f.Spec.ContentTemplate = nil, new("<{{ .node.name }}>") }))
		w.reconcile(ctx)
		w.reconcile(ctx)
		before := resourceVersions(ctx)
		w.reconcile(ctx)
		Expect(resourceVersions(ctx)).To(Equal(before))
	})

	It("batches changes by people, for a limited time", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"))
		w.reconciler.RecordEdit()
		w.reconcile(ctx)
		sees := func(after time.Duration) time.Duration {
			GinkgoHelper()
			w.clock.SetTime(w.clock.Now().Add(after))
			result, err := w.reconciler.Reconcile(ctx, anyRequest)
			Expect(err).NotTo(HaveOccurred())
			return result.RequeueAfter
		}
		w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
		create(ctx, file("a", "/a", requires("File/b")))
		w.reconciler.RecordEdit()
		Expect(sees(60 * time.Millisecond)).To(Equal(40 * time.Millisecond))
		create(ctx, file("b", "/b"))
		w.reconciler.RecordEdit()
		Expect(sees(99 * time.Millisecond)).To(Equal(time.Millisecond))
		Expect(fileConditions(ctx, "a")).To(BeEmpty())
		sees(time.Millisecond)
		Expect(entriesOf(ctx, "web-1")).To(HaveLen(2))
		Expect(fileConditions(ctx, "a")).To(ContainElement("Ready=False Applying"))

		By("changes that continue for more than two seconds")
		w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Require = nil })
		Expect(k8s.Delete(ctx, file("b", ""))).To(Succeed())
		for range 40 {
			Expect(entriesOf(ctx, "web-1")).To(HaveLen(2))
			w.reconciler.RecordEdit()
			sees(50 * time.Millisecond)
		}
		Expect(entriesOf(ctx, "web-1")).To(HaveLen(1))
	})

	It("writes nothing twice while its cache is stale", func(ctx SpecContext) {
		w := newFixture()
		late := &staleCache{Client: k8s}
		w.client.Client = late
		create(ctx, node("web-1", "web"), file("a", "/a"), file("b", "/b"))
		w.reconcile(ctx)
		generation := func() int64 { return nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Generation }

		late.freeze(ctx)
		updateFile(ctx, "b", func(f *v1alpha1.File) { f.Spec.Path = "/a" })
		w.reconcile(ctx)
		Expect(generation()).To(Equal(int64(2)))
		w.reconcile(ctx)
		Expect(generation()).To(Equal(int64(2)))

		By("a change back to what the cache has")
		updateFile(ctx, "b", func(f *v1alpha1.File) { f.Spec.Path = "/b" })
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "web-1")).To(HaveLen(2))
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec.Withheld).To(BeEmpty())
	})

	It("compiles changes that come during a reconciliation with the next one", func(ctx SpecContext) {
		w := newFixture()
		late := &staleCache{Client: k8s}
		w.client.Client = late
		create(ctx, node("web-1", "web"), file("a", "/a", fromTemplate("{{ .facts.kernel }}")))
		w.reconcile(ctx)
		late.read = func() {
			reportFacts(ctx, "web-1", map[string]any{"kernel": "Linux"})
			w.reconciler.Invalidate()
		}
		w.reconcile(ctx)
		_, err := w.reconciler.Reconcile(ctx, anyRequest)
		Expect(err).NotTo(HaveOccurred())
		Expect(entriesOf(ctx, "web-1")).To(HaveKey("File/a"))
	})

	It("overwrites what another manager wrote, before the cache has it", func(ctx SpecContext) {
		w := newFixture()
		late := &staleCache{Client: k8s}
		w.client.Client = late
		create(ctx, node("web-1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		late.freeze(ctx)
		nc := nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1")
		nc.Spec.Withheld = []v1alpha1.Withheld{{Ref: "File/a", Reason: "Conflict"}}
		Expect(k8s.Update(ctx, nc)).To(Succeed())
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		w.reconcile(ctx)
		late.frozen = nil
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "web-1")).To(HaveKeyWithValue("File/a", `{"content":"changed","path":"/a"}`))
	})

	It("reverts manual changes of a NodeCatalog's spec, except noop", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		nc := nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1")
		nc.Spec = v1alpha1.NodeCatalogSpec{Noop: true, Withheld: []v1alpha1.Withheld{{Ref: "File/a", Reason: "Mischief"}}}
		Expect(k8s.Update(ctx, nc)).To(Succeed())
		w.reconcile(ctx)
		spec := nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec
		Expect(spec.Catalogs).To(HaveLen(1))
		Expect(spec.Withheld).To(BeEmpty())
		Expect(spec.Noop).To(BeTrue())
	})

	It("withholds two resources with one path, names each in the other's status, and applies the rest", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("a", "/etc/motd"), file("b", "/etc/motd"), file("c", "/c"))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "web-1")).To(HaveLen(1))
		conflict := []string{"Ready=False Conflict", "Reconciling=False Settled", "Stalled=True Conflict", "Conflict=True Conflict"}
		Expect(fileConditions(ctx, "a")).To(Equal(conflict))
		Expect(fileConditions(ctx, "b")).To(Equal(conflict))
		Expect(messageOf(ctx, "a", "Conflict")).To(ContainSubstring("File/b"))
		Expect(messageOf(ctx, "b", "Conflict")).To(ContainSubstring("File/a"))
		Expect(w.drainEvents()).To(ConsistOf(ContainSubstring("Warning ProblemFound Conflict: path"), ContainSubstring("Warning ProblemFound Conflict: path")))

		Expect(k8s.Delete(ctx, file("b", "/etc/motd"))).To(Succeed())
		w.reconcile(ctx)
		reportApplied(ctx, "web-1")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "a")).To(Equal([]string{"Ready=True InSync", "Reconciling=False Settled", "Stalled=False Settled"}))
		Expect(nodeCounts(ctx, "a")).To(Equal(v1alpha1.NodeCounts{Selected: 1, InSync: 1}))
	})

	DescribeTable("explains why a resource cannot be applied",
		func(ctx SpecContext, resources []client.Object, reason, message string) {
			w := newFixture()
			create(ctx, node("web-1", "web"))
			create(ctx, resources...)
			w.reconcile(ctx)
			Expect(entriesOf(ctx, "web-1")).To(HaveKey("File/good"))
			Expect(entriesOf(ctx, "web-1")).NotTo(HaveKey("File/bad"))
			Expect(fileConditions(ctx, "bad")).To(ContainElements("Ready=False "+reason, "Stalled=True "+reason))
			Expect(messageOf(ctx, "bad", "Stalled")).To(ContainSubstring(message))
			Expect(nodeCounts(ctx, "bad")).To(Equal(v1alpha1.NodeCounts{Selected: 1, Skipped: 1}))
			Expect(statusOf(ctx, NewWithT(GinkgoT()), "bad").Samples).To(HaveExactElements(HaveField("State", v1alpha1.StateWithheld)))
		},
		Entry("a missing reference", []client.Object{file("bad", "/a", requires("File/goood")), file("good", "/b")},
			"MissingReference", "require names File/goood, which does not exist; the node has File/bad, File/good"),
		Entry("a cycle", []client.Object{file("bad", "/a", requires("File/two")), file("two", "/b", requires("File/bad")), file("good", "/c")},
			"DependencyCycle", "File/bad -> File/two -> File/bad"),
		Entry("a template that fails", []client.Object{
			file("good", "/b"),
			file("bad", "/a", func(f *v1alpha1.File) { f.Spec.Content, f.Spec.ContentTemplate = nil, new("{{ .nothing }}") }),
		}, "InvalidTemplate", "on node web-1: line 1"),
		Entry("a missing ConfigMap", []client.Object{file("good", "/b"), file("bad", "/a", fromConfigMap("none", "x"))},
			"MissingSource", "ConfigMap default/none"),
	)

	It("renders a template once the node has reported facts", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("t", "/t", func(f *v1alpha1.File) {
			f.Spec.Content, f.Spec.ContentTemplate = nil, new("{{ .facts.os.family }} on {{ .node.name }}")
		}))
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "web-1")).To(BeEmpty())
		Expect(fileConditions(ctx, "t")).To(Equal([]string{"Ready=False WaitingForFacts", "Reconciling=True WaitingForFacts", "Stalled=False Settled"}))

		reportFacts(ctx, "web-1", map[string]any{"os": map[string]any{"family": "Debian"}})
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "web-1")).To(Equal(map[string]string{"File/t": `{"content":"Debian on web-1","path":"/t"}`}))
		reportApplied(ctx, "web-1")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "t")).To(ContainElement("Ready=True InSync"))
	})

	It("creates a NodeCatalog for a Node that was replaced once the former one is collected", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		first := nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1")
		Expect(k8s.Delete(ctx, node("web-1", "web"))).To(Succeed())
		create(ctx, node("web-1", "web"), file("b", "/b"))
		w.reconcile(ctx)
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec).To(Equal(first.Spec), "it belongs to the former Node")
		Expect(k8s.Delete(ctx, first)).To(Succeed())
		w.reconcile(ctx)
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").UID).NotTo(Equal(first.UID))
		Expect(entriesOf(ctx, "web-1")).To(HaveLen(2))
	})

	It("deletes an unused Catalog after an hour", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), file("a", "/a"))
		w.reconcile(ctx)
		reportApplied(ctx, "web-1")
		w.reconcile(ctx)
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(2))
		w.clock.SetTime(w.clock.Now().Add(2 * time.Hour))
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(2), "the node has not applied the new one")

		reportApplied(ctx, "web-1")
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(2), "it is unused only since now")
		w.clock.SetTime(w.clock.Now().Add(59 * time.Minute))
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(2))
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(1))
		Expect(entriesOf(ctx, "web-1")).To(HaveLen(1))
	})

	It("deletes the Catalogs of a Node that left", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), node("web-2", "web"), file("a", "/a"))
		w.reconcile(ctx)
		reportApplied(ctx, "web-1")
		updateFile(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		w.reconcile(ctx)
		reportApplied(ctx, "web-1")
		Expect(k8s.Delete(ctx, node("web-2", "web"))).To(Succeed())
		w.reconcile(ctx)
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(2))
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(1))
	})
})

func updateFile(ctx SpecContext, name string, change func(*v1alpha1.File)) {
	GinkgoHelper()
	var f v1alpha1.File
	Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, &f)).To(Succeed())
	change(&f)
	Expect(k8s.Update(ctx, &f)).To(Succeed())
}

func listCatalogs(ctx SpecContext) []v1alpha1.Catalog {
	GinkgoHelper()
	var list v1alpha1.CatalogList
	Expect(k8s.List(ctx, &list)).To(Succeed())
	return list.Items
}

// resourceVersions returns the resource versions of the objects that the manager writes.
func resourceVersions(ctx SpecContext) map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	for kind, list := range map[string]client.ObjectList{
		"Catalog": &v1alpha1.CatalogList{}, "NodeCatalog": &v1alpha1.NodeCatalogList{}, "File": &v1alpha1.FileList{}, "Node": &corev1.NodeList{},
	} {
		Expect(k8s.List(ctx, list)).To(Succeed())
		Expect(eachItem(list, func(o metav1.Object) { all[kind+"/"+o.GetName()] = o.GetResourceVersion() })).To(Succeed())
	}
	return all
}
