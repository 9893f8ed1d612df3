package v1alpha1_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/config/crd"
)

const samples = "../../config/samples"

// files returns the YAML files in a folder, sorted by name.
func files(dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(names) == 0 {
		panic("no samples in " + dir)
	}
	return names
}

// objects returns the documents of a file.
func objects(file string) []*unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	var all []*unstructured.Unstructured
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		Expect(err).NotTo(HaveOccurred())
		all = append(all, object(string(doc)))
	}
}

// expected returns the error in the first line of an invalid sample.
func expected(file string) string {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	first, _, _ := strings.Cut(string(text), "\n")
	message, ok := strings.CutPrefix(first, "# error: ")
	Expect(ok).To(BeTrue(), "%s does not begin with \"# error: \" and what the server says", file)
	return message
}

var _ = Describe("The samples", func() {
	// The folder attributes has samples that cannot be applied together.
	for _, file := range slices.Concat(files(samples), files(samples+"/attributes")) {
		It("are accepted: "+strings.TrimPrefix(file, samples+"/"), func(ctx SpecContext) {
			for _, o := range objects(file) {
				removed(o)
				Expect(apply(ctx, o)).To(Succeed())
			}
		})
	}

	It("cover all resource kinds", func() {
		var kinds, want []string
		for _, file := range files(samples) {
			for _, o := range objects(file) {
				kinds = append(kinds, o.GetKind())
			}
		}
		for _, r := range v1alpha1.Resources() {
			want = append(want, r.KindName())
		}
		Expect(kinds).To(ContainElements(want))
	})

	It("are all in the Kustomization", func() {
		var names []any
		for _, file := range files(samples) {
			names = append(names, filepath.Base(file))
		}
		Expect(objects(filepath.Join(samples, "Kustomization"))[0].Object["resources"]).To(Equal(names))
	})
})

var _ = Describe("The invalid samples", func() {
	for _, file := range files(filepath.Join(samples, "invalid")) {
		It("are rejected: "+strings.TrimSuffix(filepath.Base(file), ".yaml"), func(ctx SpecContext) {
			all := objects(file)
			Expect(all).To(HaveLen(1))
			removed(all[0])
			// kubectl apply creates what is new; a server-side apply words some errors otherwise.
			Expect(k8s.Create(ctx, all[0])).To(MatchError(ContainSubstring(expected(file))))
		})
	}

	It("cover every rule of the CRDs", func() {
		var said []string
		for _, file := range files(filepath.Join(samples, "invalid")) {
			said = append(said, expected(file))
		}
		crds, err := crd.All()
		Expect(err).NotTo(HaveOccurred())
		var missing []string
		for _, c := range crds {
			for _, message := range messages(*c.Spec.Versions[0].Schema.OpenAPIV3Schema) {
				if !slices.Contains(said, message) && !slices.Contains(ofUpdates, message) {
					missing = append(missing, c.Spec.Names.Kind+": "+message)
				}
			}
		}
		Expect(missing).To(BeEmpty())
	})
})

// ofUpdates lists the messages of rules that no single file can violate. Specifications cover them.
var ofUpdates = []string{
	"entries are immutable: create another Catalog, named after the hash of its entries",
	"scope cannot be changed: define another kind",
}

// messages returns the messages of all CEL rules in a schema.
func messages(s apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	for _, rule := range s.XValidations {
		all = append(all, rule.Message)
	}
	for _, p := range s.Properties {
		all = append(all, messages(p)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		all = append(all, messages(*s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		all = append(all, messages(*s.AdditionalProperties.Schema)...)
	}
	return all
}
