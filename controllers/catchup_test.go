package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/controllers"
	"github.com/fettle-dev/fettle/providers"
)

// nodeMetadata is what caches hold of Nodes.
func nodeMetadata() client.ObjectList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	return list
}

var _ = Describe("A manager that takes over with a cache that is behind", func() {
	var (
		w    *world
		late *behind // of the manager that takes over
		next *controllers.Fleet
	)
	BeforeEach(func(ctx SpecContext) {
		w = newWorld()
		create(ctx, node("web-1", "web"), file("a", "/a"), file("b", "/b", on("web")),
			secret("password", "text", "one"), file("c", "/c", fromSecret("password", "text")))
		w.pass(ctx)
		publishKey(ctx, "web-1")
		w.pass(ctx)
		late = &behind{Client: k8s}
		next = &controllers.Fleet{Client: late, Live: k8s, Recorder: w.events, Clock: w.clock, Kinds: providers.Kinds()}
	})
	takesOver := func(ctx SpecContext) time.Duration {
		GinkgoHelper()
		next.Invalidate()
		result, err := next.Reconcile(ctx, anything)
		Expect(err).NotTo(HaveOccurred())
		return result.RequeueAfter
	}

	DescribeTable("neither undoes nor repeats what the one before did", func(ctx SpecContext, of client.ObjectList, change func(SpecContext)) {
		late.freeze(ctx, of)
		change(ctx)
		w.pass(ctx)
		is := nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec
		for range 3 {
			Expect(takesOver(ctx)).To(Equal(time.Second))
		}
		late.frozen = nil
		takesOver(ctx)
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec).To(Equal(is))
		Expect(late.patches).To(BeZero())

		By("and goes on")
		update(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("after") })
		takesOver(ctx)
		Expect(has(ctx, "web-1")).To(HaveKeyWithValue("File/a", `{"content":"after","path":"/a"}`))
		Expect(late.patches).To(Equal(1))
	},
		Entry("of NodeCatalogs", &v1alpha1.NodeCatalogList{}, func(ctx SpecContext) {
			update(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		}),
		Entry("of a resource that changed", &v1alpha1.FileList{}, func(ctx SpecContext) {
			update(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		}),
		Entry("of a resource that is new", &v1alpha1.FileList{}, func(ctx SpecContext) {
			create(ctx, file("d", "/d"))
		}),
		Entry("of a resource that is no more", &v1alpha1.FileList{}, func(ctx SpecContext) {
			Expect(k8s.Delete(ctx, file("b", "/b"))).To(Succeed())
		}),
		Entry("of a Node", nodeMetadata(), func(ctx SpecContext) { relabel(ctx, "web-1", "db") }),
		Entry("of a Secret", &corev1.SecretList{}, func(ctx SpecContext) {
			Expect(k8s.Update(ctx, secret("password", "text", "two"))).To(Succeed())
		}),
	)

	It("waits for nothing that has gone since, and for no Secret that is not meant for nodes", func(ctx SpecContext) {
		late.freeze(ctx, &v1alpha1.FileList{}, &corev1.SecretList{})
		create(ctx, file("d", "/d"))
		other := secret("other", "text", "one")
		other.Labels = nil
		create(ctx, other)
		Expect(takesOver(ctx)).To(Equal(time.Second))
		Expect(k8s.Delete(ctx, file("d", "/d"))).To(Succeed())
		takesOver(ctx)
		Expect(takesOver(ctx)).NotTo(Equal(time.Second))
		update(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("changed") })
		late.frozen = nil
		takesOver(ctx)
		Expect(late.patches).To(Equal(1))
	})
})
