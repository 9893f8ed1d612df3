package hostrun_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/hostrun"
	"github.com/fettle-dev/fettle/internal/state"
)

// ran makes a run with a report.
func ran(t *testing.T, o hostrun.Options, resources ...report.ResourceReport) {
	t.Helper()
	_, err := hostrun.Run(t.Context(), o, func(context.Context, engine.Store) (report.Report, error) {
		r := report.Report{Kind: "Report", Started: time.Now(), Resources: resources}
		r.Complete(nil)
		return r, nil
	})
	must(t, err)
}

func resource(name string, state report.State, message string) report.ResourceReport {
	return report.ResourceReport{
		Ref: report.Ref{Kind: "File", Name: name}, State: state, Duration: report.Duration(time.Now().Nanosecond()),
		Events: []report.Event{{Property: "content", Status: report.Success, Message: message, Diff: "+secret"}},
	}
}

// history returns a line for each stored report.
func history(t *testing.T, dir string) []string {
	t.Helper()
	all, err := state.Reports(dir)
	must(t, err)
	var lines []string
	for _, s := range all {
		var r report.Report
		must(t, json.Unmarshal(s.Report, &r))
		line := fmt.Sprintf("%d %s:", s.Number, r.Status)
		for _, res := range r.Resources {
			line += " " + res.Ref.Name
			for _, e := range res.Events {
				line += " " + e.Message + e.Diff
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestHistoryHasWhatHappenedOnceAndNoDiffs(t *testing.T) {
	t.Parallel()
	o := options(t, t.TempDir())
	ran(t, o, resource("a", report.Changed, "created"))
	ran(t, o, resource("a", report.Changed, "created")) // a change is always news
	for range 3 {
		ran(t, o, resource("a", report.Failed, "no space")) // the same failure is news once
	}
	ran(t, o)
	ran(t, o)
	want := []string{"1 changed: a created", "2 changed: a created", "3 failed: a no space", "4 unchanged:"}
	if diff := cmp.Diff(want, history(t, o.Dir)); diff != "" {
		t.Error(diff)
	}
}

func TestLargeReportKeepsWhatFailed(t *testing.T) {
	t.Parallel()
	o := options(t, t.TempDir())
	var all []report.ResourceReport
	for i := range 1000 {
		all = append(all, resource(fmt.Sprint("changed-", i), report.Changed, strings.Repeat("x", 100)))
	}
	ran(t, o, append(all, resource("failed", report.Failed, "no space"))...)
	ran(t, o, append(all, resource("failed", report.Failed, "no space"))...)
	got := history(t, o.Dir)
	if len(got) != 2 || !strings.HasPrefix(got[1], "2 failed: failed no space changed-0 ") {
		t.Errorf("got %d reports: %.200q", len(got), got)
	}
	stored, err := state.Reports(o.Dir)
	must(t, err)
	for _, s := range stored {
		if size := len(s.Report); size > state.MaxReportBytes || size < state.MaxReportBytes*9/10 {
			t.Errorf("a report of %d bytes is kept where there is room for %d", size, state.MaxReportBytes)
		}
	}
}
