package nodeagent_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/catalog"
	"github.com/fettle-dev/fettle/internal/external/definition"
)

var revision = "sha256-" + strings.Repeat("0", 64)

func appliesKeptType(t *testing.T, m *machine) {
	m.installDebian()
	version := func(of string) *v1alpha1.ExternalType {
		return noteType(of, v1alpha1.ExternalSource{Files: map[string]string{"main.sh": strings.ReplaceAll(note, "VERSION", of)}})
	}
	one, two := version("1"), version("2")
	one.Name, two.Name = "keptnotes", "keptnotes"
	must(t, m.w.admin.Create(t.Context(), two))
	digest, err := definition.Digest(one.Spec)
	must(t, err)
	kept, err := catalog.OfType(one.Name, one.Spec)
	must(t, err)
	must(t, m.w.admin.Create(t.Context(), kept.DeepCopy()))
	hello := v1alpha1.CatalogEntry{Kind: "Note", Name: "hello", Type: "keptnotes@" + digest, Attributes: &runtime.RawExtension{Raw: []byte(`{"ensure": "present"}`)}}

	m.start()
	m.spec(v1alpha1.NodeCatalogSpec{Entries: []v1alpha1.CatalogEntry{hello}})
	m.soon("the definition is missing", func(g Gomega) {
		g.Expect(m.logs.String()).To(ContainSubstring("cannot get the type keptnotes@" + digest + ": the ExternalType has changed"))
	})
	nc := m.edit(func(s *v1alpha1.NodeCatalogSpec) {
		s.Rollout = &v1alpha1.NodeRollout{Policy: "default", Revision: revision, Types: []v1alpha1.TypeDefinition{{Type: hello.Type, Catalog: kept.Name}}}
	})
	m.passes("it is applied", func(g Gomega) {
		g.Expect(m.object().Status.AppliedGeneration).To(Equal(nc.Generation))
		g.Expect(condition(m.object(), "Ready")).To(Equal("True Applied: the resource is in sync"))
	})
	m.Expect(m.file("note").text()).To(Equal("1\n"))

	m.stop()
	m.door.lock()
	m.file("note").remove()
	m.start() // without the API server
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("note").text()).To(Equal("1\n")) })
}

func followsRollout(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	runs := m.runs.Load()
	nc := m.edit(func(s *v1alpha1.NodeCatalogSpec) {
		s.Rollout = &v1alpha1.NodeRollout{Policy: "default", Revision: revision, Since: new(metav1.NewTime(m.clock.Now()))}
	})
	m.becomes(nc, "True Applied: the resource is in sync")
	m.Expect(m.object().Status.AppliedGeneration).To(Equal(nc.Generation))
	m.Expect(m.runs.Load()).To(Equal(runs), "nothing is applied for that")
	m.file("motd").write("bad\n")
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
}
