package controllers_test

import (
	"context"
	"errors"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// lacking is a client whose cache lacks some Files.
type lacking struct {
	client.Client
	files []string
}

// List is the cache's.
func (c lacking) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if out, ok := list.(*v1alpha1.FileList); ok {
		out.Items = slices.DeleteFunc(out.Items, func(f v1alpha1.File) bool { return slices.Contains(c.files, f.Name) })
	}
	return err
}

// listing is a reader of which lists of metadata are counted, or fail.
type listing struct {
	client.Client
	fails error
	lists *int
}

// List is one more.
func (c listing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, is := list.(*metav1.PartialObjectMetadataList); is {
		*c.lists++
		if c.fails != nil {
			return c.fails
		}
	}
	return c.Client.List(ctx, list, opts...)
}

var _ = Describe("Resources that a cache lacks", func() {
	refuses := func(ctx context.Context, w *world, text string) {
		GinkgoHelper()
		w.fleet.Invalidate()
		_, err := w.fleet.Reconcile(ctx, anything)
		Expect(err).To(MatchError(ContainSubstring(text)))
	}

	It("stay on nodes if nobody deleted them, while other nodes go on", func(ctx SpecContext) {
		w := three(ctx)
		create(ctx, node("db-1", "db"), file("db", "/db", on("db")))
		w.pass(ctx)
		Expect(k8s.Delete(ctx, file("db", ""))).To(Succeed())
		w.fleet.Client = lacking{k8s, []string{"a", "b"}}
		refuses(ctx, w, "the cache lacks File/a, File/b, which nobody deleted: nodes keep what they have")
		Expect(has(ctx, "n1")).To(HaveLen(3))
		Expect(has(ctx, "db-1")).To(HaveLen(1), "its file was deleted")

		By("a manager that never saw them")
		again := w.again()
		again.fleet.Client = lacking{k8s, []string{"a"}}
		Expect(again.pass(ctx)).To(Equal(time.Second), "it waits for them")
		Expect(has(ctx, "n3")).To(HaveLen(3))

		By("a cache that is whole again")
		again.fleet.Client = k8s
		again.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(3))
		Expect(said(ctx, "a")).To(ContainElement("Ready=True InSync"))
	})

	It("stay where they are rendered for each node, or withheld", func(ctx SpecContext) {
		w := newWorld()
		create(ctx, node("n1", "web"), file("t", "/t", rendered("{{ .node.name }}")),
			file("one", "/same"), file("two", "/same"), file("c", "/c"))
		w.pass(ctx)
		for _, lost := range []string{"t", "one"} {
			w.fleet.Client = lacking{k8s, []string{lost}}
			refuses(ctx, w, "the cache lacks File/"+lost)
		}
		Expect(has(ctx, "n1")).To(And(HaveLen(2), HaveKey("File/t")))
		Expect(nodeCatalog(ctx, NewWithT(GinkgoT()), "n1").Spec.Withheld).To(HaveLen(2))
	})

	It("stay while nobody can tell whether they were deleted", func(ctx SpecContext) {
		w := three(ctx)
		var lists int
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		w.fleet.Live = listing{k8s, errors.New("no etcd"), &lists}
		refuses(ctx, w, "cannot list File, of which a cache lacks some: no etcd")
		Expect(has(ctx, "n1")).To(HaveLen(3))
		w.fleet.Live = k8s
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(2))
	})

	It("are looked for once a kind, and not where nodes lose nothing", func(ctx SpecContext) {
		w := three(ctx)
		var lists int
		w.fleet.Live = listing{k8s, nil, &lists}
		update(ctx, "a", func(f *v1alpha1.File) { f.Spec.Content = new("other\n") })
		w.pass(ctx)
		Expect(lists).To(BeZero())
		Expect(k8s.Delete(ctx, file("a", ""))).To(Succeed())
		Expect(k8s.Delete(ctx, file("b", ""))).To(Succeed())
		w.pass(ctx)
		Expect(has(ctx, "n1")).To(HaveLen(1))
		Expect(lists).To(Equal(1))
	})
})
