package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestReportIsCompletedFromItsResources(t *testing.T) {
	t.Parallel()
	result := func(name string, state report.State, events ...report.Event) report.ResourceReport {
		return report.ResourceReport{Ref: ref(name), State: state, Events: events}
	}
	changed, drift := report.Event{Status: report.Success}, report.Event{Status: report.Success, Corrective: true}
	failed, pending := report.Event{Status: report.Failure, Corrective: true}, report.Event{Status: report.Pending, Corrective: true}
	unknown := report.ResourceReport{Ref: ref("u"), State: report.Noop, Unknown: "runs a command", OutOfSync: true}
	for name, c := range map[string]struct {
		resources []report.ResourceReport
		status    string
		counts    report.Counts
		corrected []resource.Ref
	}{
		"nothing":              {nil, "unchanged", report.Counts{}, nil},
		"in sync":              {[]report.ResourceReport{result("a", report.InSync)}, "unchanged", report.Counts{Total: 1, InSync: 1}, nil},
		"changed":              {[]report.ResourceReport{result("a", report.Changed, changed)}, "changed", report.Counts{Total: 1, Changed: 1}, nil},
		"refreshed":            {[]report.ResourceReport{result("a", report.Refreshed, changed)}, "changed", report.Counts{Total: 1, Refreshed: 1}, nil},
		"changed and skipped":  {[]report.ResourceReport{result("a", report.Skipped, changed)}, "changed", report.Counts{Total: 1, Skipped: 1}, nil},
		"failed":               {[]report.ResourceReport{result("a", report.Failed), result("b", report.Changed, changed)}, "failed", report.Counts{Total: 2, Failed: 1, Changed: 1}, nil},
		"drift not corrected":  {[]report.ResourceReport{result("a", report.Failed, failed), result("b", report.Noop, pending)}, "failed", report.Counts{Total: 2, Failed: 1, Noop: 1}, nil},
		"drift in one of many": {[]report.ResourceReport{result("a", report.Changed, changed, drift), result("b", report.InSync)}, "changed", report.Counts{Total: 2, Changed: 1, InSync: 1}, []resource.Ref{{Kind: "Thing", Name: "a"}}},
		"of unknown outcome":   {[]report.ResourceReport{unknown}, "unchanged", report.Counts{Total: 1, Noop: 1, Unknown: 1, OutOfSync: 1}, nil},
	} {
		r := report.Report{Resources: c.resources}
		r.Complete(nil)
		if r.Status != c.status || r.CorrectiveChange != (len(c.corrected) > 0) {
			t.Errorf("%s: %s, corrective %t", name, r.Status, r.CorrectiveChange)
		}
		if diff := cmp.Diff(c.counts, r.Counts); diff != "" {
			t.Errorf("%s: counts (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.corrected, r.Corrected()); diff != "" {
			t.Errorf("%s: corrected (-want +got):\n%s", name, diff)
		}
	}
}
