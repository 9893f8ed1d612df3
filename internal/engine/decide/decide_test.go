package decide_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/resource"
)

func TestDecide(t *testing.T) {
	change := []resource.Change{{Property: "color"}}
	dep := []resource.Ref{{Kind: "Thing", Name: "dep"}}
	deps := func(n int) []resource.Ref {
		var refs []resource.Ref
		for i := range n {
			refs = append(refs, resource.Ref{Kind: "Thing", Name: fmt.Sprintf("d%d", i)})
		}
		return refs
	}
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		s    decide.Situation
		want decide.Verdict
	}{
		"nothing to do":                                                {decide.Situation{}, decide.Verdict{}},
		"changes are applied":                                          {decide.Situation{Changes: change}, decide.Verdict{Action: decide.Apply}},
		"changes under noop are reported":                              {decide.Situation{Changes: change, Noop: true}, decide.Verdict{Action: decide.ReportNoop}},
		"handled changes leave nothing to do":                          {decide.Situation{Changes: change, ChangesDone: true}, decide.Verdict{}},
		"changes come before events":                                   {decide.Situation{Changes: change, Events: decide.Events{Real: 1}, CanRefresh: true}, decide.Verdict{Action: decide.Apply}},
		"an event causes a refresh":                                    {decide.Situation{Events: decide.Events{Real: 2, Noop: 1}, CanRefresh: true}, decide.Verdict{decide.Refresh, "refreshed by 2 events"}},
		"an event is dropped if the resource can't refresh":            {decide.Situation{Events: decide.Events{Real: 1}}, decide.Verdict{}},
		"an event is dropped after a change that replaces the refresh": {decide.Situation{Changes: change, ChangesDone: true, Events: decide.Events{Real: 1}, CanRefresh: true, Invalidated: true}, decide.Verdict{}},
		"noop events alone are reported":                               {decide.Situation{Events: decide.Events{Noop: 2}, CanRefresh: true}, decide.Verdict{decide.ReportNoop, "would have been refreshed by 2 events"}},
		"events under noop are reported":                               {decide.Situation{Events: decide.Events{Real: 1}, CanRefresh: true, Noop: true}, decide.Verdict{decide.ReportNoop, "would have been refreshed by 1 event"}},
		"events that may come are reported":                            {decide.Situation{Events: decide.Events{Unknown: 2}, CanRefresh: true}, decide.Verdict{decide.ReportUnknown, "may be refreshed by 2 events"}},
		"events that come precede those that may come":                 {decide.Situation{Events: decide.Events{Noop: 1, Unknown: 1}, CanRefresh: true}, decide.Verdict{decide.ReportNoop, "would have been refreshed by 1 event"}},
		"an event precedes those that may come":                        {decide.Situation{Events: decide.Events{Real: 1, Unknown: 2}, CanRefresh: true}, decide.Verdict{decide.Refresh, "refreshed by 1 event"}},
		"an unselected resource is skipped":                            {decide.Situation{Unselected: true, Invalid: bad, Changes: change}, decide.Verdict{decide.Skip, "not selected"}},
		"failed dependencies cause a skip":                             {decide.Situation{FailedDeps: dep, Changes: change}, decide.Verdict{decide.Skip, "skipped because of failed dependencies: Thing/dep"}},
		"an unscheduled resource ignores failed dependencies":          {decide.Situation{Unscheduled: bad, FailedDeps: dep}, decide.Verdict{decide.Skip, "bad"}},
		"an invalid resource fails despite failed dependencies":        {decide.Situation{FailedDeps: dep, Invalid: bad}, decide.Verdict{decide.Fail, "bad"}},
		"a skip takes precedence over a missing provider":              {decide.Situation{FailedDeps: dep, NoProvider: bad}, decide.Verdict{decide.Skip, "skipped because of failed dependencies: Thing/dep"}},
		"an invalid resource fails outside its schedule":               {decide.Situation{Unscheduled: errors.New("late"), Invalid: bad}, decide.Verdict{decide.Fail, "bad"}},
		"failed dependencies precede the end of the run":               {decide.Situation{FailedDeps: dep, Stopped: bad}, decide.Verdict{decide.Skip, "skipped because of failed dependencies: Thing/dep"}},
		"a missing provider fails":                                     {decide.Situation{NoProvider: bad}, decide.Verdict{decide.Fail, "bad"}},
		"an unsupported attribute fails":                               {decide.Situation{Unsupported: bad, Noop: true}, decide.Verdict{decide.Fail, "bad"}},
		"an unreadable resource fails":                                 {decide.Situation{ReadError: bad, Noop: true}, decide.Verdict{decide.Fail, "bad"}},
		"a cycle fails":                                                {decide.Situation{Cycle: dep}, decide.Verdict{decide.Fail, "is part of a dependency cycle: Thing/dep => Thing/dep"}},
		"at most five failed dependencies are named":                   {decide.Situation{FailedDeps: deps(7)}, decide.Verdict{decide.Skip, "skipped because of failed dependencies: Thing/d0, Thing/d1, Thing/d2, Thing/d3, Thing/d4 and 2 more"}},
		"five are all named":                                           {decide.Situation{FailedDeps: deps(5)}, decide.Verdict{decide.Skip, "skipped because of failed dependencies: Thing/d0, Thing/d1, Thing/d2, Thing/d3, Thing/d4"}},
		"a stopped run skips resources":                                {decide.Situation{Stopped: context.Canceled}, decide.Verdict{decide.Skip, "the run was stopped before its turn"}},
		"a stopped run skips resources with the reason":                {decide.Situation{Stopped: errors.New("time is up")}, decide.Verdict{decide.Skip, "the run was stopped before its turn: time is up"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decide.Decide(c.s); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAnyEventMayRefresh(t *testing.T) {
	if got, want := decide.MayRefresh(decide.Events{Real: 3, Noop: 2, Unknown: 1}), "may be refreshed by 6 events"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
