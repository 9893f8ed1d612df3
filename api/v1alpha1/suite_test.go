package v1alpha1_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fettle-dev/fettle/test/fixtures/controlplane"
)

func TestAPI(t *testing.T) {
	t.Parallel()

	RegisterFailHandler(Fail)
	RunSpecs(t, "the API")
}

var (
	restConfig *rest.Config
	k8s        client.Client
)

var _ = BeforeSuite(func() {
	ctrl.SetLogger(GinkgoLogr)
	restConfig, _ = controlplane.Start(GinkgoT())
	k8s = client.WithFieldValidation(controlplane.Admin(GinkgoT(), restConfig), "Strict")
})

// object decodes a YAML document without validation.
func object(text string) *unstructured.Unstructured {
	GinkgoHelper()
	o := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(text), &o.Object)).To(Succeed(), text)
	return o
}

// apply does the same as kubectl apply --server-side.
func apply(ctx SpecContext, o *unstructured.Unstructured) error {
	return k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("the-api-suite"), client.ForceOwnership)
}

// removed deletes an object after the specification.
func removed(o client.Object) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, o))).To(Succeed())
	})
}
