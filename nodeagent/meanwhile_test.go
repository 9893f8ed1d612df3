package nodeagent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fettle-dev/fettle/api/v1alpha1"
)

// Of three files and an account that drift while an Exec runs, those with a path to the Exec wait for it.
func correctsMeanwhile(t *testing.T, m *machine) {
	m.installDebian()
	path := func(name string) string { return filepath.Join(m.root, name) }
	t.Cleanup(func() { _ = os.WriteFile(path("end"), nil, 0o644) }) // or the agent waits for the command
	m.start()
	entry := func(kind, name, attributes string) v1alpha1.CatalogEntry {
		return v1alpha1.CatalogEntry{Kind: kind, Name: name, Attributes: &runtime.RawExtension{Raw: []byte(attributes)}}
	}
	notifies, requires := fileEntry("notifies", "good\n"), fileEntry("requires", "good\n")
	notifies.Edges = &v1alpha1.Edges{Notify: []v1alpha1.ResourceRef{"Exec/long"}}
	requires.Edges = &v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"Exec/long"}}
	free := fileEntry("free", "good\n")
	free.Edges = &v1alpha1.Edges{Notify: []v1alpha1.ResourceRef{"Exec/reload"}}
	nc := m.applied(m.should(
		entry("Exec", "long", `{"command": "touch /running; while ! test -e /end; do sleep 0.05; done; echo x >> /ran", "shell": true, "onlyIf": ["test -e /begin"]}`),
		entry("Exec", "reload", `{"command": "cat /etc/free >> /reloaded", "shell": true, "refreshOnly": true}`),
		notifies, requires, free,
		entry("User", "ann", `{"name": "ann", "comment": "good"}`),
	))
	drift := func(names ...string) {
		for _, name := range names {
			m.file(name).write("bad\n")
		}
	}
	must(t, os.WriteFile(path("begin"), nil, 0o644))
	must(t, os.Remove(path("reloaded")))
	runs := m.runs.Load()
	m.passes("the command runs", func(g Gomega) { g.Expect(path("running")).To(BeAnExistingFile()) })

	passwd := m.file("passwd").text()
	for range 2 { // drift also backs off during a run
		drift("notifies", "requires", "free")
		m.file("passwd").replace(strings.Replace(passwd, ":good:", ":bad:", 1))
		began := m.clock.Now()
		m.Eventually(func(g Gomega) {
			m.clock.Step(50 * time.Millisecond)
			g.Expect(m.file("free").text()).To(Equal("good\n"))
			g.Expect(m.file("passwd").text()).To(Equal(passwd))
		}).WithTimeout(limit).WithPolling(20 * time.Millisecond).Should(Succeed())
		t.Logf("corrected after %s", m.clock.Since(began))
		m.soon("the corrections are reported", func(g Gomega) {
			s := m.object().Status
			g.Expect(s.LastRun.Trigger).To(Equal(v1alpha1.TriggerDrift))
			g.Expect(slices.ContainsFunc(s.Resources, func(r v1alpha1.ResourceReport) bool {
				return r.Ref == "File/free" && r.State == v1alpha1.StateChanged && r.Corrective
			})).To(BeTrue(), "%+v", s.Resources)
			g.Expect(s.Counts.Total).To(Equal(int32(6)))
			g.Expect(s.Counts.InSync).To(Equal(int32(6)))
			g.Expect(s.AppliedGeneration).To(Equal(nc.Generation))
		})
	}
	m.Expect(m.runs.Load()).To(Equal(runs))
	m.Expect([]string{m.file("notifies").text(), m.file("requires").text()}).To(Equal([]string{"bad\n", "bad\n"}))
	m.Expect(path("reloaded")).NotTo(BeAnExistingFile())

	must(t, os.Remove(path("begin")))
	must(t, os.WriteFile(path("end"), nil, 0o644))
	m.passes("the rest follows", func(g Gomega) {
		g.Expect([]string{m.file("notifies").text(), m.file("requires").text()}).To(Equal([]string{"good\n", "good\n"}))
		ran, err := os.ReadFile(path("ran"))
		g.Expect(string(ran), err).To(Equal("x\n"))
		reloaded, err := os.ReadFile(path("reloaded"))
		g.Expect(string(reloaded), err).To(Equal("good\n"))
		g.Expect(condition(m.object(), "Ready")).To(Equal("True Applied: all 6 resources are in sync"))
	})
}

// A command that begins a run does not delay the correction of what drifted before the run, while the agent was away.
func correctsEarlierDrift(t *testing.T, m *machine) {
	m.installDebian()
	path := func(name string) string { return filepath.Join(m.root, name) }
	t.Cleanup(func() { _ = os.WriteFile(path("end"), nil, 0o644) }) // or the agent waits for the command
	long := v1alpha1.CatalogEntry{Kind: "Exec", Name: "long", Attributes: &runtime.RawExtension{
		Raw: []byte(`{"command": "touch /running; while ! test -e /end; do sleep 0.05; done; rm /end /running", "shell": true, "onlyIf": ["test -e /begin"]}`),
	}}
	after := fileEntry("after", "good\n")
	after.Edges = &v1alpha1.Edges{Require: []v1alpha1.ResourceRef{"Exec/long"}}
	hang, release := m.hanging("/nodecatalogs")
	m.start()
	m.applied(m.should(long, after, fileEntry("free", "good\n"), fileEntry("other", "good\n")))
	m.stop()

	must(t, os.WriteFile(path("begin"), nil, 0o644))
	m.file("free").write("bad\n")
	m.file("after").write("bad\n")
	hang() // the run begins before the agent knows its NodeCatalog
	m.start()
	m.passes("the start runs the command", func(g Gomega) { g.Expect(path("running")).To(BeAnExistingFile()) })
	release()
	m.Eventually(func(g Gomega) {
		m.clock.Step(50 * time.Millisecond)
		g.Expect(m.file("free").text()).To(Equal("good\n"))
	}).WithTimeout(limit).WithPolling(20*time.Millisecond).Should(Succeed(), "the drift is corrected")
	m.soon("the correction is reported", func(g Gomega) {
		s := m.object().Status
		g.Expect(s.LastRun.Trigger).To(Equal(v1alpha1.TriggerDrift))
		g.Expect(slices.ContainsFunc(s.Resources, func(r v1alpha1.ResourceReport) bool { return r.Ref == "File/free" && r.Corrective })).To(BeTrue(), "%+v", s.Resources)
	})
	m.Expect(path("running")).To(BeAnExistingFile())
	m.Expect(m.file("after").text()).To(Equal("bad\n"))
	must(t, os.Remove(path("begin")))
	must(t, os.WriteFile(path("end"), nil, 0o644))
	m.passes("the rest follows", func(g Gomega) { g.Expect(m.file("after").text()).To(Equal("good\n")) })
}

// A write of the status that begins while a run looks for earlier commands outlives that run. It begins there if the
// write before it ends during the run.
func reportsAfterRun(t *testing.T, m *machine) {
	m.installDebian()
	path := func(name string) string { return filepath.Join(m.root, name) }
	t.Cleanup(func() { _ = os.Remove(path("wait")) }) // or the agent waits for the command
	hang, release := m.hanging("/status")
	m.start()
	exec := func(name, onlyIf string) v1alpha1.CatalogEntry {
		raw, err := json.Marshal(map[string]any{"command": "true", "shell": true, "onlyIf": []string{onlyIf}})
		must(t, err)
		return v1alpha1.CatalogEntry{Kind: "Exec", Name: name, Attributes: &runtime.RawExtension{Raw: raw}}
	}
	entries := []v1alpha1.CatalogEntry{fileEntry("motd", "good\n"), exec("first", "while test -e /wait; do touch /waiting; sleep 0.01; done; false")}
	for i := range 20 { // the agent takes the result at about every second one
		entries = append(entries, exec(fmt.Sprintf("next-%d", i), "false"))
	}
	m.applied(m.should(entries...))
	drift := func() (at time.Time) {
		m.clock.Step(time.Minute)
		at = m.clock.Now().Truncate(time.Second)
		runs := m.runs.Load()
		m.file("motd").write("bad\n")
		m.passes("the drift is corrected", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs)) })
		return at
	}
	reported := func(at time.Time) {
		t.Helper()
		m.soon("the drift is reported", func(g Gomega) {
			g.Expect(m.object().Status.LastRun.Started.Time).To(BeTemporally(">=", at))
		})
	}
	hang()
	once, again := drift(), drift()
	must(t, os.WriteFile(path("wait"), nil, 0o644))
	m.passes("the third run waits", func(g Gomega) { g.Expect(path("waiting")).To(BeAnExistingFile()) })
	release()
	hang()
	reported(once)
	runs := m.runs.Load()
	must(t, os.Remove(path("wait")))
	m.soon("the third run ends", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs)) })
	release()
	reported(again)
}
