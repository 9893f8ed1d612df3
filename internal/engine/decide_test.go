package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fettle-dev/fettle/internal/engine"
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
		s    engine.Situation
		want engine.Verdict
	}{
		"nothing to do is kept":                               {engine.Situation{}, engine.Verdict{}},
		"changes are applied":                                 {engine.Situation{Changes: change}, engine.Verdict{Action: engine.Apply}},
		"changes under noop are pretended":                    {engine.Situation{Changes: change, Noop: true}, engine.Verdict{Action: engine.Pretend}},
		"changes that are settled leave nothing":              {engine.Situation{Changes: change, Settled: true}, engine.Verdict{}},
		"changes come before events":                          {engine.Situation{Changes: change, Events: engine.Events{Real: 1}, CanRefresh: true}, engine.Verdict{Action: engine.Apply}},
		"an event refreshes":                                  {engine.Situation{Events: engine.Events{Real: 2, Noop: 1}, CanRefresh: true}, engine.Verdict{engine.Refresh, "refreshed by 2 events"}},
		"an event to what can't refresh is dropped":           {engine.Situation{Events: engine.Events{Real: 1}}, engine.Verdict{}},
		"an event to what just started is dropped":            {engine.Situation{Changes: change, Settled: true, Events: engine.Events{Real: 1}, CanRefresh: true, Invalidated: true}, engine.Verdict{}},
		"noop events alone only pretend":                      {engine.Situation{Events: engine.Events{Noop: 2}, CanRefresh: true}, engine.Verdict{engine.Pretend, "would have been refreshed by 2 events"}},
		"a noop target only pretends":                         {engine.Situation{Events: engine.Events{Real: 1}, CanRefresh: true, Noop: true}, engine.Verdict{engine.Pretend, "would have been refreshed by 1 event"}},
		"what is not selected is skipped before all":          {engine.Situation{Unselected: true, Invalid: bad, Changes: change}, engine.Verdict{engine.Skip, "not selected"}},
		"failed dependencies skip":                            {engine.Situation{FailedDeps: dep, Changes: change}, engine.Verdict{engine.Skip, "skipped because of failed dependencies: Thing/dep"}},
		"what is not scheduled does not wait for what failed": {engine.Situation{Unscheduled: bad, FailedDeps: dep}, engine.Verdict{engine.Skip, "bad"}},
		"the invalid fails even with failed deps":             {engine.Situation{FailedDeps: dep, Invalid: bad}, engine.Verdict{engine.Fail, "bad"}},
		"a missing provider is no matter to the skip":         {engine.Situation{FailedDeps: dep, NoProvider: bad}, engine.Verdict{engine.Skip, "skipped because of failed dependencies: Thing/dep"}},
		"the invalid fails out of its time":                   {engine.Situation{Unscheduled: errors.New("late"), Invalid: bad}, engine.Verdict{engine.Fail, "bad"}},
		"what failed counts before the end of the run":        {engine.Situation{FailedDeps: dep, Stopped: bad}, engine.Verdict{engine.Skip, "skipped because of failed dependencies: Thing/dep"}},
		"a missing provider fails":                            {engine.Situation{NoProvider: bad}, engine.Verdict{engine.Fail, "bad"}},
		"an unsupported attribute fails":                      {engine.Situation{Unsupported: bad, Noop: true}, engine.Verdict{engine.Fail, "bad"}},
		"what can't be read fails":                            {engine.Situation{ReadError: bad, Noop: true}, engine.Verdict{engine.Fail, "bad"}},
		"a cycle fails":                                       {engine.Situation{Cycle: dep}, engine.Verdict{engine.Fail, "is part of a dependency cycle: Thing/dep => Thing/dep"}},
		"of many failed dependencies five are named":          {engine.Situation{FailedDeps: deps(7)}, engine.Verdict{engine.Skip, "skipped because of failed dependencies: Thing/d0, Thing/d1, Thing/d2, Thing/d3, Thing/d4 and 2 more"}},
		"five are all named":                                  {engine.Situation{FailedDeps: deps(5)}, engine.Verdict{engine.Skip, "skipped because of failed dependencies: Thing/d0, Thing/d1, Thing/d2, Thing/d3, Thing/d4"}},
		"a stopped run skips":                                 {engine.Situation{Stopped: context.Canceled}, engine.Verdict{engine.Skip, "the run was stopped before its turn"}},
		"and says why, if that is known":                      {engine.Situation{Stopped: errors.New("time is up")}, engine.Verdict{engine.Skip, "the run was stopped before its turn: time is up"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := engine.Decide(c.s); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
