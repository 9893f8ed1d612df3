package reconcile_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

const (
	fileA     = `{"path": "/etc/a", "ensure": "file", "mode": "0640"}`
	fileB     = `{"path": "/etc/b", "ensure": "file", "mode": "0640"}`
	fileC     = `{"path": "/etc/c", "ensure": "file", "mode": "0640"}`
	refreshes = `{"command": "echo x >> /refreshed", "shell": true, "refreshOnly": true}`
)

func TestDriftIsCorrectedWithWhatItNotifiesAndARunFollows(t *testing.T) {
	w := newFixture(t)
	w.has("File/a", fileA, w.notifies("Exec/reload"))
	w.has("File/b", fileB)
	w.has("Exec/reload", refreshes)
	w.converge()
	must(t, os.Remove(w.path("refreshed")))

	noticed := w.clock.Now()
	w.chmod("etc/a", 0o600)
	w.noticed()
	o := w.correct()
	want := []string{"Changed File/a", "File/a: mode changed 0600 to 0640 (corrective)", "Refreshed Exec/reload", "Exec/reload: refreshed by 1 event"}
	if diff := cmp.Diff(want, lines(o)); diff != "" {
		t.Errorf("the correction (-want +got):\n%s", diff)
	}
	if r := o.Report; !r.Partial || r.Counts.Total != 2 || o.DuringRun || !o.Noticed.Equal(noticed) {
		t.Errorf("the outcome is %+v", o)
	}

	if w.RunDue() {
		t.Error("a run is due at once")
	}
	w.clock.Step(drift.FullCheckDelay)
	if !w.RunDue() {
		t.Errorf("no run is due %s after the correction", drift.FullCheckDelay)
	}
	if got := w.run(); len(got) > 0 {
		t.Errorf("the run reports %q", got)
	}
	if refreshed, err := os.ReadFile(w.path("refreshed")); err != nil || string(refreshed) != "x\n" {
		t.Errorf("refreshed %q, %v", refreshed, err)
	}
}

func TestFailedCorrectionMakesARunDueAtOnce(t *testing.T) {
	w := newFixture(t)
	w.has("File/a", fileA)
	w.converge()

	must(t, os.Remove(w.path("etc/a")))
	must(t, os.MkdirAll(w.path("etc/a/precious"), 0o755))
	w.noticed()
	if o := w.correct(); o.Report.Status != "failed" {
		t.Fatalf("the correction has %q", lines(o))
	}
	if !w.RunDue() {
		t.Error("no run is due")
	}
	must(t, os.RemoveAll(w.path("etc/a")))
	w.noticed()
	if w.CorrectionDue() {
		t.Error("another correction is due before the run")
	}
}

func TestOnlyRunsWithoutCommandsAroundThemAllowCorrections(t *testing.T) {
	for name, around := range map[string]struct{ before, after []string }{
		"a command before": {before: []string{"/bin/true"}},
		"a command after":  {after: []string{"/bin/true"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.has("File/a", fileA)
			w.control.Before, w.control.After = around.before, around.after
			w.converge()

			w.chmod("etc/a", 0o600)
			w.noticed()
			if w.CorrectionDue() {
				t.Error("a correction is due")
			}
			if !w.RunDue() {
				t.Error("no run is due")
			}
		})
	}
}

func TestDriftIsCorrectedDuringACommandThatItHasNoPathTo(t *testing.T) {
	w := newFixture(t)
	w.has("Exec/long", `{"command": "touch /running; while ! test -e /end; do sleep 0.01; done", "shell": true, "onlyIf": ["test -e /begin"]}`, w.requires("File/c"))
	w.has("File/a", fileA)
	w.has("File/b", fileB, w.requires("Exec/long"))
	w.has("File/c", fileC)
	w.converge()

	must(t, os.WriteFile(w.path("begin"), nil, 0o600))
	drifted, ended := false, false
	w.during(func() {
		_, err := os.Stat(w.path("running"))
		switch running := err == nil; {
		case running && !drifted:
			w.chmod("etc/a", 0o600)
			w.chmod("etc/b", 0o600)
			w.chmod("etc/c", 0o600)
			drifted = true
		case drifted && !ended && w.mode("etc/a") == 0o640:
			if after, before := w.mode("etc/b"), w.mode("etc/c"); after != 0o600 || before != 0o600 {
				t.Errorf("during the command, a file after it has the mode %o, and one before it %o", after, before)
			}
			must(t, os.WriteFile(w.path("end"), nil, 0o600))
			ended = true
		}
	})
	run := w.run()
	if len(w.corrections) != 1 || !w.corrections[0].DuringRun {
		t.Fatalf("the corrections are %+v", w.corrections)
	}
	want := []string{"Changed File/a", "File/a: mode changed 0600 to 0640 (corrective)"}
	if diff := cmp.Diff(want, lines(w.corrections[0])); diff != "" {
		t.Errorf("the correction (-want +got):\n%s", diff)
	}
	want = []string{
		"Failed File/c", "File/c: was undone in the same run, by Exec/long: mode is 0600, should be 0640",
		"Changed Exec/long", "Exec/long: executed successfully",
		"Changed File/b", "File/b: mode changed 0600 to 0640 (corrective)",
	}
	if diff := cmp.Diff(want, run); diff != "" {
		t.Errorf("the run (-want +got):\n%s", diff)
	}
}

func TestResourcesAreBoundOnceAndForgetWhatWasRead(t *testing.T) {
	w := newFixture(t)
	w.has("File/a", fileA)
	w.has("File/b", fileB)
	state := func(i int) resource.Instance { return w.items[i].Resource.State() }
	before := []resource.Instance{state(0), state(1)}
	var read int
	w.observe = func(report.ResourceReport) {
		if !cmp.Equal(before, []resource.Instance{state(0), state(1)}, cmp.AllowUnexported(resource.Instance{})) {
			read++
		}
	}
	forgotten := func(after string) {
		t.Helper()
		// The provider is chosen for as long as the resource is bound.
		for i := range before {
			got := state(i)
			got.Provider = before[i].Provider
			if diff := cmp.Diff(before[i], got); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", after, diff)
			}
		}
	}
	w.converge()
	forgotten("a run")
	w.chmod("etc/a", 0o600)
	w.noticed()
	w.correct()
	forgotten("a correction")
	if read == 0 {
		t.Error("nothing was read")
	}
	if *w.bound != 2 {
		t.Errorf("two resources were bound %d times", *w.bound)
	}
}
