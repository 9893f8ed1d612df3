package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// drifted is a resource with drift of these properties that a run corrected.
func drifted(name string, properties ...string) report.ResourceReport {
	r := report.ResourceReport{Ref: report.Ref{Kind: "File", Name: name}, State: report.Changed, OutOfSync: true}
	for _, p := range properties {
		r.Events = append(r.Events, report.Event{Property: p, Is: "x", Should: "y", Status: report.Success, Corrective: true})
	}
	return r
}

// reportedDrift is drift in noop, or drift that could not be corrected.
func reportedDrift(name, is string, state report.State, status report.EventStatus) report.ResourceReport {
	r := drifted(name, "mode")
	r.State, r.Differs, r.Events[0].Is, r.Events[0].Status = state, true, is, status
	return r
}

// by adds an author.
func by(executable string, r report.ResourceReport) report.ResourceReport {
	r.Author = &host.Author{Executable: executable, PID: 7, UID: new(int64(0)), LoginUID: new(int64(1000)), Unit: "session-3.scope", Pod: "0a"}
	return r
}

func authored(executable string, r v1alpha1.DriftRecord) v1alpha1.DriftRecord {
	r.Author = &v1alpha1.Author{Executable: executable, PID: 7, UID: new(int64(0)), LoginUID: new(int64(1000)), Unit: "session-3.scope", Pod: "0a"}
	return r
}

func gone(name string) report.ResourceReport {
	r := changed(name, false)
	r.Deleted = true
	return r
}

func record(name string, first, last time.Time, count int64, corrected bool, properties ...string) v1alpha1.DriftRecord {
	return v1alpha1.DriftRecord{
		Ref: v1alpha1.ReportedRef("File/" + name), FirstSeen: metav1.NewTime(first), LastSeen: metav1.NewTime(last), Count: count, Corrected: corrected, Properties: properties,
	}
}

func TestDriftIsRecorded(t *testing.T) {
	t.Parallel()

	only := func(is string) report.ResourceReport { return reportedDrift("a", is, report.Noop, report.Pending) }
	stuck := func(is string) report.ResourceReport { return reportedDrift("a", is, report.Failed, report.Failure) }
	for name, c := range map[string]struct {
		runs []results
		want []v1alpha1.DriftRecord
	}{
		"never without drift":                              {[]results{{inSync("a"), changed("b", false), failed("c", "no")}}, nil},
		"each time that it is corrected":                   {[]results{{drifted("a", "mode")}, {inSync("a")}, {drifted("a", "owner", "group", "owner")}}, []v1alpha1.DriftRecord{record("a", noon(), twoHours(), 2, true, "owner", "group")}},
		"the latest first":                                 {[]results{{drifted("b", "mode"), drifted("c", "mode")}, {drifted("a", "mode"), inSync("b")}}, []v1alpha1.DriftRecord{record("a", oneHour(), oneHour(), 1, true, "mode"), record("b", noon(), noon(), 1, true, "mode"), record("c", noon(), noon(), 1, true, "mode")}},
		"once while it is only reported":                   {[]results{{only("0600")}, {only("0600"), changed("b", false)}, {only("0600")}}, []v1alpha1.DriftRecord{record("a", noon(), noon(), 1, false, "mode")}},
		"again if something else is reported":              {[]results{{only("0600")}, {only("0777")}}, []v1alpha1.DriftRecord{record("a", noon(), oneHour(), 2, false, "mode")}},
		"again after it was in sync":                       {[]results{{only("0600")}, {inSync("a")}, {only("0600")}}, []v1alpha1.DriftRecord{record("a", noon(), twoHours(), 2, false, "mode")}},
		"once while it cannot be corrected":                {[]results{{stuck("0600")}, {stuck("0600"), changed("b", false)}}, []v1alpha1.DriftRecord{record("a", noon(), noon(), 1, false, "mode")}},
		"as corrected once that succeeds":                  {[]results{{stuck("x")}, {stuck("x")}, {drifted("a", "mode")}}, []v1alpha1.DriftRecord{record("a", noon(), twoHours(), 1, true, "mode")}},
		"as corrected once that is more than noop":         {[]results{{only("x")}, {drifted("a", "mode")}}, []v1alpha1.DriftRecord{record("a", noon(), oneHour(), 1, true, "mode")}},
		"again if what is corrected is another one":        {[]results{{stuck("0600")}, {drifted("a", "mode")}}, []v1alpha1.DriftRecord{record("a", noon(), oneHour(), 2, true, "mode")}},
		"while what it depends on fails":                   {[]results{{reportedDrift("a", "x", report.Skipped, report.Failure)}, {stuck("x")}}, []v1alpha1.DriftRecord{record("a", noon(), noon(), 1, false, "mode")}},
		"with its author, as long as it is known":          {[]results{{by("\x1b[2J/usr/bin/vi", drifted("a", "mode")), drifted("b", "mode")}}, []v1alpha1.DriftRecord{authored(`\x1b[2J/usr/bin/vi`, record("a", noon(), noon(), 1, true, "mode")), record("b", noon(), noon(), 1, true, "mode")}},
		"without the author of an earlier one":             {[]results{{by("/usr/bin/vi", drifted("a", "mode"))}, {drifted("a", "mode")}}, []v1alpha1.DriftRecord{record("a", noon(), oneHour(), 2, true, "mode")}},
		"with its author while it is only reported":        {[]results{{by("/usr/bin/vi", only("0600"))}, {only("0600"), changed("b", false)}}, []v1alpha1.DriftRecord{authored("/usr/bin/vi", record("a", noon(), noon(), 1, false, "mode"))}},
		"until no resource manages the thing":              {[]results{{drifted("a", "mode"), drifted("b", "mode")}, {gone("a"), inSync("b")}}, []v1alpha1.DriftRecord{record("b", noon(), noon(), 1, true, "mode")}},
		"until a resource that only reports it is deleted": {[]results{{only("0600"), drifted("b", "mode")}, {changed("c", false)}}, []v1alpha1.DriftRecord{record("b", noon(), noon(), 1, true, "mode")}},
		"while a schedule keeps a resource as is":          {[]results{{drifted("a", "mode")}, {left("a"), changed("b", false)}}, []v1alpha1.DriftRecord{record("a", noon(), noon(), 1, true, "mode")}},
		"with hostile names of properties escaped":         {[]results{{drifted("a", "mode\x1b[2J\n")}}, []v1alpha1.DriftRecord{record("a", noon(), noon(), 1, true, `mode\x1b[2J\n`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(c.want, after(c.runs...).Drift); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecordsOfDriftAreBounded(t *testing.T) {
	t.Parallel()

	var many, long []report.ResourceReport
	for i := range 100 {
		many = append(many, drifted(fmt.Sprintf("%03d", i), "mode"))
		long = append(long, drifted(strings.Repeat("x", 1000)+fmt.Sprint(i), "mode"))
	}
	if n := len(after(many).Drift); n != 20 {
		t.Errorf("%d records", n)
	}
	if n := len(after(long).Drift); n != 5 {
		t.Errorf("%d long records", n)
	}
	full := after(results{drifted("a", "mode")})
	full.Drift[0].Count = 1_000_000_000 // which the schema allows, and no more
	if s, _ := status.Next(full, status.Input{Now: oneHour(), Generation: 3, AgentVersion: "v1", Run: ran(oneHour(), drifted("a", "mode"))}); s.Drift[0].Count != 1_000_000_000 {
		t.Errorf("%d times", s.Drift[0].Count)
	}
	s, _ := status.Next(after(results{drifted("a", "mode")}), status.Input{
		Now: noon().Add(30 * 24 * time.Hour), Generation: 3, AgentVersion: "v1", Run: ran(noon().Add(30*24*time.Hour), changed("b", false)),
	})
	if len(s.Drift) > 0 {
		t.Errorf("after 30 days: %v", s.Drift)
	}
}

func TestContestIsRecordedUntilItIsOver(t *testing.T) {
	t.Parallel()

	input := func(run *status.Run) status.Input {
		return status.Input{Now: noon(), Generation: 3, AgentVersion: "v1", Run: run}
	}
	contested := func(run *status.Run) *status.Run {
		run.Contended = map[resource.Ref]bool{{Kind: "File", Name: "a"}: true, {Kind: "File", Name: "unrecorded"}: true}
		return run
	}
	s, _ := status.Next(v1alpha1.NodeCatalogStatus{}, input(contested(ran(noon(), drifted("a", "mode"), drifted("b", "mode")))))
	want := []v1alpha1.DriftRecord{record("a", noon(), noon(), 1, true, "mode"), record("b", noon(), noon(), 1, true, "mode")}
	want[0].Contended = true
	if diff := cmp.Diff(want, s.Drift); diff != "" {
		t.Error(diff)
	}
	same, changed := status.Next(s, input(contested(ran(noon(), inSync("a"), inSync("b")))))
	if diff := cmp.Diff(s, same); diff != "" || changed {
		t.Errorf("while it lasts (-want +got):\n%s", diff)
	}
	s, changed = status.Next(s, input(ran(noon(), inSync("a"), inSync("b"))))
	want[0].Contended = false
	if diff := cmp.Diff(want, s.Drift); diff != "" || !changed {
		t.Errorf("once it is over (-want +got):\n%s", diff)
	}
}
