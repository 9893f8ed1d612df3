package v1alpha1_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/source"
	"github.com/fettle-dev/fettle/test/fixtures/oddvalues"
)

var _ = Describe("The command", func() {
	It("rejects the same resources as an API server", func(ctx SpecContext) {
		odd, err := oddvalues.New(uint64(GinkgoRandomSeed()), samples, samples+"/attributes")
		Expect(err).NotTo(HaveOccurred())
		refused := 0
		const all = 600
		for i := range all {
			doc := odd.Next(fmt.Sprintf("r%d", i))
			o := &unstructured.Unstructured{}
			Expect(o.UnmarshalJSON(doc)).To(Succeed())
			server := k8s.Create(ctx, o, client.DryRunAll)
			if server != nil {
				Expect(apierrors.IsInvalid(server) || apierrors.IsBadRequest(server)).To(BeTrue(), "%v", server)
				refused++
			}
			read := func(context.Context) ([]byte, error) { return doc, nil }
			set := manifest.Read(ctx, []source.Source{{Name: "odd", Read: read}}, nil)
			if server == nil {
				Expect(set.Faults).To(BeEmpty(), "%s", doc)
			} else {
				Expect(set.Faults).NotTo(BeEmpty(), "%s\nserver: %v", doc, server)
			}
		}
		Expect(refused).To(BeNumerically("~", all/2, all/3))
	})
})
