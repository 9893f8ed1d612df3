package nodeagent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/state"
)

// moments advances the clock in small steps, far less than an interval in total, until holds succeeds.
func (m *machine) moments(what string, holds func(g Gomega)) {
	m.t.Helper()
	m.Eventually(func(g Gomega) {
		m.clock.Step(20 * time.Millisecond)
		holds(g)
	}).WithTimeout(limit).WithPolling(20*time.Millisecond).Should(Succeed(), what)
}

// waits blocks until the agent waits only for the clock: in its loop, in the Lease renewer, and before it asks for questions again.
func (m *machine) waits() {
	m.t.Helper()
	m.soon("the agent is idle", func(g Gomega) { g.Expect(m.clock.Waiters()).To(Equal(3)) })
}

func correctsAsItHappens(_ *testing.T, m *machine) {
	m.start()
	below := fileEntry("sub/one", "x\n")
	below.Name = "one"
	m.applied(m.should(fileEntry("motd", "good\n"), below))
	must(m.t, os.Mkdir(filepath.Join(m.root, "etc/sub"), 0o755))
	m.moments("the file that lacked its directory is created", func(g Gomega) { g.Expect(m.file("sub/one").text()).To(Equal("x\n")) })
	m.waits()
	m.file("motd").write("bad\n")
	m.moments("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	m.soon("the drift is reported", func(g Gomega) {
		nc := m.object()
		g.Expect(nc.Status.Resources).To(HaveLen(1))
		g.Expect(nc.Status.LastRun.Trigger).To(Equal(v1alpha1.TriggerDrift))
	})
	runs := m.runs.Load()
	m.moments("one more run follows", func(g Gomega) { g.Expect(m.runs.Load()).To(Equal(runs + 1)) })
	before := m.object()
	started := m.clock.Now()
	m.moments("no further run follows", func(g Gomega) { g.Expect(m.clock.Since(started)).To(BeNumerically(">", 5*time.Second)) })
	m.Expect(m.runs.Load()).To(Equal(runs + 1))
	m.Expect(m.object().ResourceVersion).To(Equal(before.ResourceVersion))
	m.Expect(m.correctionsMeasured()).To(Equal(1))
}

// correctionsMeasured returns how many corrections of Files are counted, which must be as many as were timed, each in less than ten
// seconds.
func (m *machine) correctionsMeasured() int {
	m.t.Helper()
	families, err := m.metrics.Gather()
	must(m.t, err)
	corrected, timed := -1, -1
	for _, f := range families {
		switch f.GetName() {
		case "fettle_drift_corrections_total":
			m.Expect(f.GetMetric()).To(HaveLen(1))
			m.Expect(f.GetMetric()[0].GetLabel()[0].GetValue()).To(Equal("File"))
			corrected = int(f.GetMetric()[0].GetCounter().GetValue())
		case "fettle_drift_correction_seconds":
			h := f.GetMetric()[0].GetHistogram()
			timed = int(h.GetSampleCount())
			m.Expect(h.GetSampleSum()).To(And(BeNumerically(">=", 0), BeNumerically("<", 10*timed)))
		}
	}
	m.Expect(timed).To(Equal(corrected))
	return corrected
}

func watchesLater(_ *testing.T, m *machine) {
	m.unwatchable.Store(true)
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	m.Expect(m.logs.String()).To(ContainSubstring("too many open files"))
	m.unwatchable.Store(false)
	runs := m.runs.Load()
	m.passes("a run follows", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs)) })
	for range 2 { // another run at the interval may have been due the first time
		m.file("motd").write("bad\n")
		m.moments("drift is corrected", func(g Gomega) { g.Expect(m.file("motd").text()).To(Equal("good\n")) })
	}
	m.soon("the drift is reported", func(g Gomega) { g.Expect(m.object().Status.LastRun.Trigger).To(Equal(v1alpha1.TriggerDrift)) })
}

func waitsForSplay(t *testing.T, m *machine) {
	m.start()
	m.applied(m.should(fileEntry("motd", "good\n")))
	m.stop()
	m.door.lock()
	m.luck = 0.75
	var at []time.Duration
	started := m.clock.Now()
	m.ran = func() { at = append(at, m.clock.Since(started)) }
	m.start()
	for _, d := range []time.Duration{44 * time.Second, time.Second, 10*time.Minute + 29*time.Second, time.Second} {
		m.waits()
		m.clock.Step(d)
	}
	m.waits()
	m.stop()
	if diff := cmp.Diff([]time.Duration{45 * time.Second, 45*time.Second + 10*time.Minute + 30*time.Second}, at); diff != "" {
		t.Error(diff)
	}
}

func respectsDisabled(_ *testing.T, m *machine) {
	must(m.t, state.Disable(m.stateDir(), "the disk is failing", m.clock.Now()))
	m.start()
	m.should(fileEntry("motd", "good\n"))
	const why = "Disabled: runs are disabled on this host (the disk is failing): enable them with fettle enable"
	m.soon("the reason is reported", func(g Gomega) { g.Expect(condition(m.object(), "Stalled")).To(Equal("True " + why)) })
	m.Expect(condition(m.object(), "Ready")).To(Equal("False " + why))
	m.Expect(m.agent.Ready()).To(Succeed())
	m.Expect(condition(m.object(), "Degraded")).To(Equal("False Settled"))
	before := m.object()
	started := m.clock.Now()
	m.passes("the agent keeps retrying", func(g Gomega) { g.Expect(m.clock.Since(started)).To(BeNumerically(">", 20*interval)) })
	m.Expect(m.file("motd").text()).To(ContainSubstring("no such file"))
	m.Expect(strings.Count(m.logs.String(), "runs are disabled\" reason")).To(Equal(1))
	m.Expect(m.object().ResourceVersion).To(Equal(before.ResourceVersion))

	must(m.t, state.Enable(m.stateDir()))
	m.passes("the agent runs", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied")) })
	m.Expect(condition(m.object(), "Stalled")).To(Equal("False Settled"))
	m.Expect(m.file("motd").text()).To(Equal("good\n"))
}

func noticesDisabled(_ *testing.T, m *machine) {
	m.start()
	nc := m.applied(m.should(fileEntry("motd", "good\n")))
	m.Expect(condition(nc, "Ready")).To(HavePrefix("True Applied"))
	for _, reason := range []string{"the disk is failing", ""} {
		must(m.t, state.Disable(m.stateDir(), reason, m.clock.Now()))
		m.soon("the node is disabled", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("False Disabled: ")) })
		m.Expect(condition(m.object(), "Stalled")).To(HavePrefix("True Disabled: "))
		must(m.t, state.Enable(m.stateDir()))
		m.soon("the node is enabled", func(g Gomega) { g.Expect(condition(m.object(), "Ready")).To(HavePrefix("True Applied")) })
	}
}

func runsCommands(_ *testing.T, m *machine) {
	m.before, m.after = []string{"/no/before"}, []string{"/no/after"}
	m.start()
	first := m.should(fileEntry("motd", "good\n"))
	m.soon("the commands fail", func(g Gomega) {
		g.Expect(condition(m.object(), "Degraded")).To(And(ContainSubstring("/no/before"), ContainSubstring("/no/after")))
	})
	nc := m.applied(m.spec(v1alpha1.NodeCatalogSpec{Catalogs: first.Spec.Catalogs, Noop: true}))
	m.Expect(condition(nc, "Ready")).To(Equal("True Noop: 1 only reported: File/motd"))
	m.Expect(condition(nc, "Degraded")).To(Equal("False Settled"))
}

func stopsLongRuns(_ *testing.T, m *machine) {
	m.limit = time.Nanosecond
	m.start()
	m.should(fileEntry("motd", "good\n"))
	m.soon("the reason is reported", func(g Gomega) {
		g.Expect(condition(m.object(), "Degraded")).To(Equal("True RunFailed: the run was stopped before its end: its time limit of 1ns was exceeded"))
	})
	nc := m.object()
	m.Expect(nc.Status.Resources).To(HaveLen(1))
	m.Expect(nc.Status.Resources[0].Message).To(Equal("the run was stopped before its turn: its time limit of 1ns was exceeded"))
	m.Expect(condition(nc, "Ready")).To(HavePrefix("False RunFailed: "))
	runs := m.runs.Load()
	m.passes("the next run retries", func(g Gomega) { g.Expect(m.runs.Load()).To(BeNumerically(">", runs)) })
}
