package nodeagent_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// annotate sets an annotation of the machine's NodeCatalog, or removes it for "".
func (m *machine) annotate(key, value string) {
	m.t.Helper()
	before := m.object()
	nc := before.DeepCopy()
	if nc.Annotations = map[string]string{key: value}; value == "" {
		nc.Annotations = nil
	}
	must(m.t, m.w.admin.Patch(m.t.Context(), nc, client.MergeFrom(before)))
}

func appliesRetriedRollout(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	runs := m.runs.Load()
	m.annotate(v1alpha1.AnnotationRetryRollout, "sha256-bad")
	m.soon("it runs", func(g Gomega) { g.Expect(m.runs.Load()).To(Equal(runs + 1)) })
	m.annotate(v1alpha1.AnnotationRetryRollout, "")
	m.annotate("example.com/other", "sha256-worse")
	m.annotate(v1alpha1.AnnotationRetryRollout, "sha256-worse")
	m.soon("it runs again", func(g Gomega) { g.Expect(m.runs.Load()).To(Equal(runs + 2)) })
}
