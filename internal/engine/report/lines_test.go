package report_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
)

func ref(name string) report.Ref { return report.Ref{Kind: "Thing", Name: name} }

func TestReportLinesOmitUneventfulResources(t *testing.T) {
	inSync := report.ResourceReport{Ref: ref("a"), State: report.InSync}
	for name, test := range map[string]struct {
		report report.Report
		quiet  bool
	}{
		"no resources":            {report.Report{Status: "unchanged"}, true},
		"all in sync":             {report.Report{Status: "unchanged", Resources: []report.ResourceReport{inSync, inSync}}, true},
		"a failure as a whole":    {report.Report{Status: "failed", Resources: []report.ResourceReport{inSync}}, false},
		"a message":               {report.Report{Status: "unchanged", Message: "m", Resources: []report.ResourceReport{inSync}}, false},
		"a skipped resource":      {report.Report{Status: "unchanged", Resources: []report.ResourceReport{inSync, {State: report.Skipped}}}, false},
		"a message of a resource": {report.Report{Status: "unchanged", Resources: []report.ResourceReport{inSync, {State: report.InSync, Message: "m"}}}, false},
		"an event of a resource":  {report.Report{Status: "unchanged", Resources: []report.ResourceReport{inSync, {State: report.InSync, Events: []report.Event{{}}}}}, false},
	} {
		if got := test.report.Quiet(); got != test.quiet {
			t.Errorf("%s: quiet is %t", name, got)
		}
	}
}

func TestBriefReportOmitsDiffsAndUneventfulResources(t *testing.T) {
	full := func() report.Report {
		return report.Report{
			Status:  "changed",
			Metrics: report.Metrics{Time: map[string]report.Duration{"total": 1}},
			Resources: []report.ResourceReport{
				{Ref: ref("a"), State: report.InSync},
				{Ref: ref("b"), State: report.Changed, Events: []report.Event{{Property: "color", Diff: "-red\n+blue"}}},
				{Ref: ref("c"), State: report.InSync, Message: "m"},
			},
		}
	}
	result := full()
	brief := result.Brief()
	want := full()
	want.Resources = []report.ResourceReport{
		{Ref: ref("b"), State: report.Changed, Events: []report.Event{{Property: "color"}}},
		{Ref: ref("c"), State: report.InSync, Message: "m", Events: []report.Event{}},
	}
	if diff := cmp.Diff(want, brief); diff != "" {
		t.Errorf("brief (-want +got):\n%s", diff)
	}
	brief.Metrics.Time["total"] = 2
	if diff := cmp.Diff(full(), result); diff != "" {
		t.Errorf("the full report has changed (-want +got):\n%s", diff)
	}
}

func TestReportNamesChangedResources(t *testing.T) {
	var ran report.Report
	for _, s := range []report.State{report.InSync, report.Changed, report.Refreshed, report.Noop, report.Skipped, report.Failed} {
		ran.Resources = append(ran.Resources, report.ResourceReport{Ref: ref(string(s)), State: s})
	}
	want := []resource.Ref{{Kind: "Thing", Name: "Changed"}, {Kind: "Thing", Name: "Refreshed"}, {Kind: "Thing", Name: "Failed"}}
	if diff := cmp.Diff(want, ran.Changed()); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

func TestAuditEventMarksTheResourceAudited(t *testing.T) {
	for status, want := range map[report.EventStatus]bool{report.Audit: true, report.Success: false, report.Pending: false} {
		res := report.ResourceReport{Events: []report.Event{{Status: report.Failure}, {Status: status}}}
		if got := res.Audited(); got != want {
			t.Errorf("with an event of status %s: %t", status, got)
		}
	}
}

func TestDurationIsParsedFromText(t *testing.T) {
	for text, want := range map[string]report.Duration{`"0.021s"`: report.Duration(21 * time.Millisecond), `"1m"`: report.Duration(time.Minute)} {
		var got report.Duration
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`5`:      "json: cannot unmarshal number into Go value of type string",
		`"soon"`: `time: invalid duration "soon"`,
	} {
		var got report.Duration
		if err := json.Unmarshal([]byte(text), &got); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}

func TestLinesOfAResource(t *testing.T) {
	events := func(messages ...string) (all []report.Event) {
		for _, m := range messages {
			all = append(all, report.Event{Property: "color", Message: m})
		}
		return all
	}
	for name, test := range map[string]struct {
		report report.ResourceReport
		want   []string
	}{
		"in sync":                               {report.ResourceReport{}, nil},
		"a message":                             {report.ResourceReport{Message: "why"}, []string{"Thing/a: why"}},
		"events, and the message once":          {report.ResourceReport{Message: "why", Events: events("one", "why", "why", "two")}, []string{"Thing/a: one", "Thing/a: why", "Thing/a: two"}},
		"events of the same message":            {report.ResourceReport{Message: "why", Events: events("one", "one")}, []string{"Thing/a: one", "Thing/a: one", "Thing/a: why"}},
		"events without a message of their own": {report.ResourceReport{Events: events("one", "one")}, []string{"Thing/a: one", "Thing/a: one"}},
	} {
		test.report.Ref = ref("a")
		if diff := cmp.Diff(test.want, test.report.Lines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEventsOfALevelAreLeftOut(t *testing.T) {
	info, failure := report.Event{Level: resource.LevelInfo, Message: "i"}, report.Event{Level: resource.LevelErr, Message: "e"}
	all := report.ResourceReport{Events: []report.Event{info, failure}}
	for level, want := range map[resource.LogLevel][]report.Event{
		resource.LevelInfo: {failure}, resource.LevelErr: {info}, resource.LevelDebug: {info, failure},
	} {
		if diff := cmp.Diff(want, all.Above(level).Events); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
}

func TestSummaryOmitsUnknownOutcomesIfThereAreNone(t *testing.T) {
	got := report.Report{Counts: report.Counts{Total: 1, InSync: 1}}.Summary()
	if want := "1 resource: 1 in sync, 0 changed, 0 refreshed, 0 noop, 0 skipped, 0 failed in 0.000s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUnknownOutcomesAreTold(t *testing.T) {
	r := report.ResourceReport{Ref: ref("a"), State: report.Noop, Unknown: "runs a command", Events: []report.Event{
		{Property: "color", Status: report.Pending, Message: "created"}, {Status: report.Pending, Message: "would have been refreshed by 1 event"},
	}}
	want := []string{"Thing/a: created (noop)", "Thing/a: would have been refreshed by 1 event (noop) (unknown: runs a command)"}
	if diff := cmp.Diff(want, r.Lines()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	all := report.Report{Noop: true, Resources: []report.ResourceReport{r, {Ref: ref("b"), State: report.Noop}}}
	all.Complete(nil)
	if got, want := all.Summary(), "2 resources: 0 in sync, 0 changed, 0 refreshed, 2 noop, 0 skipped, 0 failed, 1 unknown in 0.000s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
