package promise_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine/enginetest/promise"
	"github.com/fettle-dev/fettle/internal/engine/report"
)

func of(r report.ResourceReport) report.Report {
	r.Ref = report.Ref{Kind: "Thing", Name: "a"}
	return report.Report{Resources: []report.ResourceReport{r}}
}

func with(state report.State, status report.EventStatus, should string) report.ResourceReport {
	return report.ResourceReport{State: state, Events: []report.Event{{Property: "color", Is: "red", Should: should, Status: status}}}
}

func TestBrokenPromisesAreFound(t *testing.T) {
	failed := func(message string) report.ResourceReport {
		return report.ResourceReport{State: report.Failed, Message: message}
	}
	planned, changed, inSync := with(report.Noop, report.Pending, "blue"), with(report.Changed, report.Success, "blue"), report.ResourceReport{State: report.InSync}
	unknown := planned
	unknown.Unknown = "runs a command"
	refresh := func(status report.EventStatus, message string) report.ResourceReport {
		return report.ResourceReport{Unknown: map[bool]string{true: "runs its refresh"}[status == report.Pending], Events: []report.Event{{Status: status, Message: message}}}
	}
	announced, refreshed := refresh(report.Pending, "would have been refreshed by 1 event"), refresh(report.Success, "refreshed by 1 event")
	for name, test := range map[string]struct {
		plan, apply, next report.ResourceReport
		want              promise.Class
	}{
		"a change as planned":                    {planned, changed, inSync, ""},
		"a failure as planned":                   {failed("cannot be applied: no ink"), failed("change of color failed: no ink"), inSync, ""},
		"a failure that was not planned":         {planned, failed("no ink"), inSync, promise.Fails},
		"a failure in sync":                      {inSync, failed("no ink"), inSync, promise.Fails},
		"a success that was not planned":         {failed("no ink"), changed, inSync, promise.Succeeds},
		"a failure for another reason":           {failed("cannot be applied: no ink"), failed("no paper"), inSync, promise.Cause},
		"another change":                         {planned, with(report.Changed, report.Success, "green"), inSync, promise.Differs},
		"a change in sync":                       {inSync, changed, inSync, promise.Differs},
		"no change":                              {planned, inSync, inSync, promise.Differs},
		"a change that does not last":            {planned, changed, planned, promise.Remains},
		"a failure of which a plan can't know":   {unknown, failed("no ink"), unknown, ""},
		"a change that may be made again":        {unknown, changed, unknown, ""},
		"a refresh as planned":                   {announced, refreshed, inSync, ""},
		"a refresh that is not made":             {announced, inSync, inSync, promise.Differs},
		"a refresh that was not announced":       {inSync, refreshed, inSync, promise.Differs},
		"one that another's failure has skipped": {planned, report.ResourceReport{State: report.Skipped}, planned, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := promise.Outcome{Plan: of(test.plan), Apply: of(test.apply), Next: of(test.next)}
			var got promise.Class
			for _, b := range o.Breaches() {
				got = b.Class
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestUnknownOutcomesAreCountedByReason(t *testing.T) {
	r := report.Report{Resources: []report.ResourceReport{{Unknown: "runs a command"}, {Unknown: "comes after Exec/a"}, {Unknown: "comes after Exec/b"}, {}}}
	want := map[string]int{"runs a command": 1, "comes after another that is unknown": 2}
	if diff := cmp.Diff(want, promise.Outcome{Plan: r}.Unknown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
