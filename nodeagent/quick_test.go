package nodeagent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// calm waits until the agent has checked its own changes again.
func (m *machine) calm() {
	m.t.Helper()
	runs := m.runs.Load()
	m.moments("the agent's own changes are checked", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs)) })
	m.waits()
}

func correctsAtOnce(t *testing.T, m *machine) {
	m.installDebian()
	m.start()
	reload := v1alpha1.CatalogEntry{Kind: "Exec", Name: "reload", Attributes: &runtime.RawExtension{
		Raw: []byte(`{"command": "cat /etc/conf >> /reloaded", "shell": true, "refreshOnly": true}`),
	}}
	conf, broken := fileEntry("conf", "good\n"), fileEntry("none/broken", "x\n")
	conf.Edges, broken.Name = &v1alpha1.Edges{Notify: []v1alpha1.ResourceRef{"Exec/reload"}}, "broken"
	m.applied(m.should(reload, conf, fileEntry("other", "x\n"), broken))
	m.calm()
	must(t, os.Remove(filepath.Join(m.root, "reloaded")))
	runs := m.runs.Load()

	m.file("conf").write("bad\n")
	reloaded := func() string {
		text, err := os.ReadFile(filepath.Join(m.root, "reloaded"))
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	m.soon("the file is corrected while the clock stands still", func(g Gomega) {
		g.Expect([]string{m.file("conf").text(), reloaded()}).To(Equal([]string{"good\n", "good\n"}))
	})
	want := []v1alpha1.DriftRecord{{Ref: "File/conf", Count: 1, Corrected: true, Properties: []string{"content"}}}
	reported := func(g Gomega) {
		s := m.object().Status
		g.Expect(cmp.Diff(want, s.Drift, cmpopts.IgnoreFields(v1alpha1.DriftRecord{}, "FirstSeen", "LastSeen"))).To(BeEmpty())
		g.Expect(s.LastRun.Trigger).To(Equal(v1alpha1.TriggerDrift))
		g.Expect(cmp.Diff(&v1alpha1.RunCounts{Total: 4, InSync: 3, Changed: 1, OutOfSync: 1, Refreshed: 1, Failed: 1}, s.Counts)).To(BeEmpty())
	}
	m.soon("that is reported, and the failure of another resource is kept", reported)
	m.Expect([]int32{m.runs.Load() - runs, m.partial.Load()}).To(Equal([]int32{0, 1}))
	m.Expect(condition(m.object(), "Ready")).To(HavePrefix("False ResourcesFailed"))

	m.moments("a run of everything follows", func(g Gomega) { g.Expect(m.runs.Load()).To(Equal(runs + 1)) })
	m.waits()
	reported(m)
	m.Expect(reloaded()).To(Equal("good\n"))
	m.Expect(m.partial.Load()).To(Equal(int32(2))) // the second checked the correction
}

func purgesAtOnce(_ *testing.T, m *machine) {
	m.start()
	dir := v1alpha1.CatalogEntry{Kind: "File", Name: "conf.d", Attributes: &runtime.RawExtension{
		Raw: []byte(`{"path": "/etc/conf.d", "ensure": "directory", "recurse": true, "purge": true}`),
	}}
	m.applied(m.should(dir, fileEntry("conf.d/kept", "good\n"), fileEntry("other", "x\n")))
	m.calm()
	runs := m.runs.Load()

	m.file("conf.d/extra").write("by hand\n")
	m.moments("the extra file is removed", func(g Gomega) {
		_, err := os.Stat(filepath.Join(m.root, "etc/conf.d/extra"))
		g.Expect(err).To(MatchError(os.ErrNotExist))
	})
	m.Expect(m.file("conf.d/kept").text()).To(Equal("good\n"))
	m.Expect(m.runs.Load()).To(Equal(runs))
	m.file("conf.d/kept").write("bad\n")
	m.moments("the other is corrected", func(g Gomega) { g.Expect(m.file("conf.d/kept").text()).To(Equal("good\n")) })
	m.soon("nothing failed", func(g Gomega) { g.Expect(m.object().Status.Counts.Failed).To(BeZero()) })
}

// Another program writes a file whenever it is corrected.
func reportsContest(_ *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n"), fileEntry("other", "good\n")))
	m.calm()
	began := m.clock.Now()
	for range 3 {
		ended := m.runs.Load() + m.partial.Load()
		m.file("motd").replace("bad\n")
		m.moments("it is corrected, and that is verified", func(g Gomega) {
			g.Expect(m.file("motd").text()).To(Equal("good\n"))
			g.Expect(m.runs.Load() + m.partial.Load()).To(BeNumerically(">", ended))
		})
	}
	m.Expect(m.clock.Since(began).Seconds()).To(BeNumerically(">=", 3)) // after 0, 1 and 3 seconds
	contended := func(g Gomega, want bool) {
		drift := m.object().Status.Drift
		g.Expect(drift).To(HaveLen(1))
		g.Expect(drift[0].Contended).To(Equal(want))
		g.Expect(m.contended(g)).To(Equal(map[bool]float64{true: 1}[want]))
	}
	m.soon("the contest is reported", func(g Gomega) { contended(g, true) })
	m.passes("its end is reported", func(g Gomega) { contended(g, false) })
}

// contended is the metric of contested resources.
func (m *machine) contended(g Gomega) float64 {
	families, err := m.metrics.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() == "fettle_contended_resources" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

func correctsWithCommands(_ *testing.T, m *machine) {
	m.installDebian()
	m.before = []string{"/bin/sh", "-c", "echo x >> /before"}
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	m.calm()
	m.file("motd").write("bad\n")
	m.moments("it is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.Expect(m.partial.Load()).To(BeZero())
}
