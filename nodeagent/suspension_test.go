package nodeagent_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
)

// edit changes the spec of the machine's NodeCatalog.
func (m *machine) edit(change func(*v1alpha1.NodeCatalogSpec)) *v1alpha1.NodeCatalog {
	m.t.Helper()
	before := m.object()
	nc := before.DeepCopy()
	change(&nc.Spec)
	must(m.t, m.w.admin.Patch(m.t.Context(), nc, client.MergeFrom(before)))
	return nc
}

// becomes waits until the machine reports a generation of its NodeCatalog, and its condition Ready.
func (m *machine) becomes(nc *v1alpha1.NodeCatalog, ready string) {
	m.t.Helper()
	m.soon(ready, func(g Gomega) {
		is := m.object()
		g.Expect(condition(is, "Ready")).To(Equal(ready))
		g.Expect(is.Status.ObservedGeneration).To(Equal(nc.Generation))
	})
}

// leavesDrift drifts a file, and checks that many intervals pass without a correction.
func (m *machine) leavesDrift() {
	m.t.Helper()
	m.file("motd").write("bad\n")
	started := m.clock.Now()
	m.passes("intervals", func(g Gomega) { g.Expect(m.clock.Since(started)).To(BeNumerically(">", 10*interval)) })
	m.waits()
	m.Expect(m.file("motd").text()).To(Equal("bad\n"))
}

func respectsDisabledNode(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	nc := m.edit(func(s *v1alpha1.NodeCatalogSpec) {
		s.Disabled = &v1alpha1.Disabled{Reason: "the disk is being replaced"}
	})
	forNode := "Disabled: runs are disabled for this node (the disk is being replaced): enable them with kubectl fettle enable " + m.name
	m.becomes(nc, "False "+forNode)
	m.Expect(condition(m.object(), "Stalled")).To(Equal("True " + forNode))
	m.Expect(condition(m.object(), "Reconciling")).To(Equal("False Settled"))
	m.Expect(m.object().Status.AppliedGeneration).To(Equal(nc.Generation), "the node has all that it is to have")
	m.leavesDrift()

	nc = m.edit(func(s *v1alpha1.NodeCatalogSpec) { s.FleetDisabled = &v1alpha1.Disabled{} })
	const forAll = "runs are disabled for all nodes (no reason was given): enable them with kubectl fettle enable --all"
	m.becomes(nc, "False "+forNode+"; "+forAll)
	must(m.t, state.Disable(m.stateDir(), "by hand", m.clock.Now()))
	m.soon("all three reasons", func(g Gomega) {
		g.Expect(condition(m.object(), "Ready")).To(HavePrefix("False Disabled: runs are disabled on this host (by hand): enable them with fettle enable; runs are disabled for this node "))
	})
	must(m.t, state.Enable(m.stateDir()))
	nc = m.edit(func(s *v1alpha1.NodeCatalogSpec) { s.Disabled = nil })
	m.becomes(nc, "False Disabled: "+forAll)

	changed := m.should(fileEntry("motd", "better\n")) // which enables the node, too
	m.applied(changed)
	m.becomes(changed, "True Applied: the resource is in sync")
	m.Expect(m.file("motd").text()).To(Equal("better\n"))
}

func joinsDisabledFleet(_ *testing.T, m *machine) {
	m.start()
	m.should(fileEntry("motd", "good\n"))
	nc := m.edit(func(s *v1alpha1.NodeCatalogSpec) { s.FleetDisabled = &v1alpha1.Disabled{Reason: "freeze"} })
	m.soon("it is disabled", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("False Disabled: ")) })
	m.Expect(m.agent.Ready()).To(Succeed())
	m.Expect(m.object().Status.Facts).NotTo(BeNil())
	nc = m.edit(func(s *v1alpha1.NodeCatalogSpec) { s.FleetDisabled = nil })
	m.passes("it is enabled", func(g Gomega) {
		g.Expect(m.object().Status.AppliedGeneration).To(Equal(nc.Generation))
		g.Expect(m.file("motd").text()).To(Equal("good\n"))
	})
}

func resumesByItself(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	until := metav1.NewTime(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC))
	nc := m.edit(func(s *v1alpha1.NodeCatalogSpec) { s.Disabled = &v1alpha1.Disabled{Reason: "night", Until: &until} })
	m.becomes(nc, "False Disabled: runs are disabled for this node until 2026-01-03T00:00:00Z (night): enable them with kubectl fettle enable "+m.name)
	m.leavesDrift()

	m.stop()
	m.door.lock()
	m.start()
	m.waits()
	m.clock.SetTime(until.Add(-time.Second))
	m.waits()
	m.Expect(m.file("motd").text()).To(Equal("bad\n"), "also after a start without the API server")
	m.clock.Step(time.Second)
	m.soon("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.door.unlock()
	m.passes("the node is in sync", func(g Gomega) {
		g.Expect(condition(m.object(), "Ready")).To(Equal("True Applied: the resource is in sync"))
	})
}

func reportsHeld(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	runs := m.runs.Load()
	nc := m.edit(func(s *v1alpha1.NodeCatalogSpec) {
		s.Held = &v1alpha1.Held{Since: metav1.NewTime(m.clock.Now()), Resources: []v1alpha1.ResourceRef{"File/a", "File/b"}, Omitted: 3}
	})
	const why = "UpdateHeld: the node is not updated since 2026-01-02T12:00:00Z: it would lose File/a, File/b and 3 more, and too many nodes would be deselected at once; " +
		"kubectl describe fleet.fettle.dev shows how to confirm that"
	m.becomes(nc, "False "+why)
	m.Expect(condition(m.object(), "Stalled")).To(Equal("True " + why))
	m.Expect(condition(m.object(), "Reconciling")).To(Equal("False Settled"))
	m.Expect(m.object().Status.AppliedGeneration).To(Equal(nc.Generation))
	m.Expect(m.runs.Load()).To(Equal(runs), "nothing is applied for that")
	m.file("motd").write("bad\n")
	m.passes("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })

	nc = m.edit(func(s *v1alpha1.NodeCatalogSpec) { s.Held = nil })
	m.becomes(nc, "True Applied: the resource is in sync")
}
