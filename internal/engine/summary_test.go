package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
)

func ref(name string) engine.Ref { return engine.Ref{Kind: "Thing", Name: name} }

func TestAReportIsQuietIfNothingIsToBeTold(t *testing.T) {
	inSync := engine.ResourceReport{Ref: ref("a"), State: engine.InSync}
	for name, test := range map[string]struct {
		report engine.Report
		quiet  bool
	}{
		"no resources":            {engine.Report{Status: "unchanged"}, true},
		"all in sync":             {engine.Report{Status: "unchanged", Resources: []engine.ResourceReport{inSync, inSync}}, true},
		"a failure as a whole":    {engine.Report{Status: "failed", Resources: []engine.ResourceReport{inSync}}, false},
		"a message":               {engine.Report{Status: "unchanged", Message: "m", Resources: []engine.ResourceReport{inSync}}, false},
		"a skipped resource":      {engine.Report{Status: "unchanged", Resources: []engine.ResourceReport{inSync, {State: engine.Skipped}}}, false},
		"a message of a resource": {engine.Report{Status: "unchanged", Resources: []engine.ResourceReport{inSync, {State: engine.InSync, Message: "m"}}}, false},
		"an event of a resource":  {engine.Report{Status: "unchanged", Resources: []engine.ResourceReport{inSync, {State: engine.InSync, Events: []engine.Event{{}}}}}, false},
	} {
		if got := test.report.Quiet(); got != test.quiet {
			t.Errorf("%s: quiet is %t", name, got)
		}
	}
}

func TestABriefReportLeavesOutDiffsAndWhatHasNothingToTell(t *testing.T) {
	full := func() engine.Report {
		return engine.Report{
			Status:  "changed",
			Metrics: engine.Metrics{Time: map[string]engine.Duration{"total": 1}},
			Resources: []engine.ResourceReport{
				{Ref: ref("a"), State: engine.InSync},
				{Ref: ref("b"), State: engine.Changed, Events: []engine.Event{{Property: "color", Diff: "-red\n+blue"}}},
				{Ref: ref("c"), State: engine.InSync, Message: "m"},
			},
		}
	}
	report := full()
	brief := report.Brief()
	want := full()
	want.Resources = []engine.ResourceReport{
		{Ref: ref("b"), State: engine.Changed, Events: []engine.Event{{Property: "color"}}},
		{Ref: ref("c"), State: engine.InSync, Message: "m", Events: []engine.Event{}},
	}
	if diff := cmp.Diff(want, brief); diff != "" {
		t.Errorf("brief (-want +got):\n%s", diff)
	}
	brief.Metrics.Time["total"] = 2
	if diff := cmp.Diff(full(), report); diff != "" {
		t.Errorf("the full report has changed (-want +got):\n%s", diff)
	}
}

func TestAReportNamesTheResourcesThatWereChanged(t *testing.T) {
	var report engine.Report
	for _, s := range []engine.State{engine.InSync, engine.Changed, engine.Refreshed, engine.Noop, engine.Skipped, engine.Failed} {
		report.Resources = append(report.Resources, engine.ResourceReport{Ref: ref(string(s)), State: s})
	}
	want := []resource.Ref{{Kind: "Thing", Name: "Changed"}, {Kind: "Thing", Name: "Refreshed"}, {Kind: "Thing", Name: "Failed"}}
	if diff := cmp.Diff(want, report.Changed()); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

func TestAResourceIsAuditedIfAnEventIsOfAnAudit(t *testing.T) {
	for status, want := range map[engine.EventStatus]bool{engine.Audit: true, engine.Success: false, engine.Pending: false} {
		res := engine.ResourceReport{Events: []engine.Event{{Status: engine.Failure}, {Status: status}}}
		if got := res.Audited(); got != want {
			t.Errorf("with an event of status %s: %t", status, got)
		}
	}
}

func TestADurationIsReadAsText(t *testing.T) {
	for text, want := range map[string]engine.Duration{`"0.021s"`: engine.Duration(21 * time.Millisecond), `"1m"`: engine.Duration(time.Minute)} {
		var got engine.Duration
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`5`:      "json: cannot unmarshal number into Go value of type string",
		`"soon"`: `time: invalid duration "soon"`,
	} {
		var got engine.Duration
		if err := json.Unmarshal([]byte(text), &got); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}
