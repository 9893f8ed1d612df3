package nodeagent_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// leaving returns the entry with a deletion policy.
func leaving(policy v1alpha1.DeletionPolicy, e v1alpha1.CatalogEntry) v1alpha1.CatalogEntry {
	e.DeletionPolicy = policy
	return e
}

func appliesDeletionPolicies(t *testing.T, m *machine) {
	m.file("replaced").write("theirs")
	m.start()
	m.applied(m.should(
		leaving(v1alpha1.DeletionDelete, fileEntry("deleted", "ours")), leaving(v1alpha1.DeletionRestore, fileEntry("replaced", "ours")),
		leaving(v1alpha1.DeletionRestore, fileEntry("made", "ours")), fileEntry("orphan", "ours"), fileEntry("stays", "ours")))
	m.Expect(m.file("replaced").text()).To(Equal("ours"))

	m.stop()
	m.start()
	nc := m.applied(m.should(fileEntry("stays", "ours")))
	m.Expect(m.file("deleted").text()).To(ContainSubstring("no such file"))
	m.Expect(m.file("made").text()).To(ContainSubstring("no such file"))
	m.Expect(m.file("replaced").text()).To(Equal("theirs"))
	m.Expect(m.file("orphan").text()).To(Equal("ours"))
	m.Expect(m.file("stays").text()).To(Equal("ours"))
	m.Expect(nc.Status.Counts).To(HaveValue(Equal(v1alpha1.RunCounts{Total: 1, InSync: 1, Changed: 3})))
	m.Expect(nc.Status.Resources).To(BeEmpty())

	runs := m.runs.Load()
	m.passes("two more runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">=", runs+2)) })
	m.Expect(m.object().ResourceVersion).To(Equal(nc.ResourceVersion), "a quiet run writes nothing")
}

func reportsFailedRemoval(t *testing.T, m *machine) {
	m.start()
	dir := fileEntry("dir", "")
	dir.Attributes.Raw = []byte(`{"path": "/etc/dir", "ensure": "directory"}`)
	m.applied(m.should(leaving(v1alpha1.DeletionDelete, dir)))
	m.file("dir/theirs").write("precious")

	nc := m.applied(m.spec(v1alpha1.NodeCatalogSpec{}))
	m.Expect(nc.Status.Resources).To(HaveLen(1))
	m.Expect(nc.Status.Resources[0]).To(And(HaveField("Ref", v1alpha1.ReportedRef("File/dir")), HaveField("State", v1alpha1.StateFailed),
		HaveField("Message", ContainSubstring(`it contains files that its resource did not manage, such as "theirs": move them away`))))
	m.file("dir/theirs").remove()
	m.passes("the directory is removed", func(g Gomega) {
		g.Expect(m.object().Status.Resources).To(BeEmpty())
		g.Expect(m.file("dir").text()).To(ContainSubstring("no such file"))
	})
}

func keepsWithheld(t *testing.T, m *machine) {
	m.start()
	nc := m.should(leaving(v1alpha1.DeletionDelete, fileEntry("a", "ours")))
	m.applied(nc)
	m.applied(m.spec(v1alpha1.NodeCatalogSpec{Withheld: []v1alpha1.Withheld{{Ref: "File/a", Reason: v1alpha1.ReasonConflict}}}))
	m.Expect(m.file("a").text()).To(Equal("ours"))
}

func keepsHostWithoutNodeCatalog(t *testing.T, m *machine) {
	m.start()
	nc := m.should(leaving(v1alpha1.DeletionDelete, fileEntry("a", "ours")))
	m.applied(nc)
	must(t, m.w.admin.Delete(t.Context(), nc))
	runs := m.runs.Load()
	m.passes("two more runs", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">=", runs+2)) })
	m.Expect(m.file("a").text()).To(Equal("ours"))

	// A recreated NodeCatalog does not own earlier resources.
	m.applied(m.spec(v1alpha1.NodeCatalogSpec{}))
	m.Expect(m.file("a").text()).To(Equal("ours"))
	m.applied(m.should(leaving(v1alpha1.DeletionDelete, fileEntry("a", "ours"))))
	m.applied(m.spec(v1alpha1.NodeCatalogSpec{}))
	m.Expect(m.file("a").text()).To(ContainSubstring("no such file"))
}
