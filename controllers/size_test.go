package controllers_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// createMany creates files concurrently.
func createMany(ctx SpecContext, n int, make func(i int) *v1alpha1.File) {
	GinkgoHelper()
	unlimited := rest.CopyConfig(restConfig)
	unlimited.QPS = -1
	c, err := client.New(unlimited, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	var group errgroup.Group
	group.SetLimit(8)
	for i := range n {
		group.Go(func() error { return c.Create(ctx, make(i)) })
	}
	Expect(group.Wait()).To(Succeed())
}

var _ = Describe("Large fleets and large nodes", func() {
	It("store 2,000 resources with equal targeting in a few Catalogs, and replace one for a change", func(ctx SpecContext) {
		w := newFixture()
		create(ctx, node("web-1", "web"), node("web-2", "web"))
		createMany(ctx, 2000, func(i int) *v1alpha1.File {
			return file(fmt.Sprintf("f%04d", i), fmt.Sprintf("/f%d", i), func(f *v1alpha1.File) { f.Spec.Content = new(strings.Repeat("x", 1<<10)) })
		})
		w.reconcile(ctx)
		names := func() (all []string) {
			for _, c := range nodeCatalog(ctx, NewWithT(GinkgoT()), "web-1").Spec.Catalogs {
				all = append(all, c.Name)
			}
			return all
		}
		before := names()
		Expect(before).To(HaveLen(5))
		Expect(listCatalogs(ctx)).To(HaveLen(5))
		Expect(entriesOf(ctx, "web-2")).To(HaveLen(2000))
		Expect(fileConditions(ctx, "f1999")).To(ContainElement("Ready=False Applying"))

		updateFile(ctx, "f1000", func(f *v1alpha1.File) { f.Spec.Content = new(strings.Repeat("y", 1<<10)) })
		w.reconcile(ctx)
		Expect(listCatalogs(ctx)).To(HaveLen(6))
		Expect(entriesOf(ctx, "web-1")).To(And(HaveLen(2000), HaveKeyWithValue("File/f1000", ContainSubstring("yyyy"))))
		reportApplied(ctx, "web-1")
		reportApplied(ctx, "web-2")
		w.reconcile(ctx)
		Expect(fileConditions(ctx, "f1000")).To(ContainElement("Ready=True InSync"))
	})

	It("store many own and withheld resources of a node in one object, beside the largest status", func(ctx SpecContext) {
		w, g := newFixture(), NewWithT(GinkgoT())
		create(ctx, node("web-1", "web"))
		create(ctx, file("own", "/own", func(f *v1alpha1.File) {
			f.Spec.Content, f.Spec.ContentTemplate = nil, new(`{{ repeat 370 (repeat 1024 "x") }}`)
		}))
		createMany(ctx, 700, func(i int) *v1alpha1.File {
			return file(fmt.Sprintf("f%04d-%s", i, strings.Repeat("n", 200)), fmt.Sprintf("/f%d", i), func(f *v1alpha1.File) { f.Spec.When = strings.Repeat("<", 200) })
		})
		w.reconcile(ctx)
		nc := nodeCatalog(ctx, g, "web-1")
		Expect(nc.Spec.Withheld).To(HaveLen(700))
		Expect(nc.Spec.Withheld[0].Message).NotTo(BeEmpty())
		Expect(nc.Spec.Withheld[699].Message).To(BeEmpty())
		Expect(nc.Spec.Entries).To(HaveLen(1))
		for i := range 40 {
			nc.Status.Resources = append(nc.Status.Resources, v1alpha1.ResourceReport{
				Ref: v1alpha1.ReportedRef(fmt.Sprintf("File/f%04d-%s", i, strings.Repeat("n", 200))), State: v1alpha1.StateWithheld, Message: rand.String(500), Since: new(metav1.Now()),
			})
		}
		nc.Status.Facts = &runtime.RawExtension{Raw: []byte(`{"large": "` + strings.Repeat("x", 32<<10) + `"}`)}
		Expect(k8s.Status().Update(ctx, nc)).To(Succeed())
		updateFile(ctx, "own", func(f *v1alpha1.File) { f.Spec.ContentTemplate = new("small") })
		w.reconcile(ctx)
		Expect(entriesOf(ctx, "web-1")).To(HaveKeyWithValue("File/own", ContainSubstring("small")))
	})
})
