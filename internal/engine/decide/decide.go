// Package decide is the policy of a transaction: what happens to a resource next, and why. It is pure.
package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// An Action is what happens to a resource next.
type Action int

// The actions.
const (
	Continue      Action = iota // nothing is to be done now
	Apply                       // write the changes
	Refresh                     // react to events
	ReportNoop                  // report what would be done, do nothing
	ReportUnknown               // report what may be done, as only an apply can tell, do nothing
	Await                       // report that what would be done depends on others, which are not applied
	Skip                        // leave it unread: something it needs failed, or it is not asked for
	Fail
)

// A Verdict is an action and, where a person would ask, the reason.
type Verdict struct {
	Action Action
	Reason string
}

// Events counts the events that were sent to a resource and have had no effect yet.
type Events struct {
	Real int
	Noop int // what would have been sent, had its sender not been in noop
	// Unknown is what may have been sent then: only an apply can tell.
	Unknown int
}

// A Situation is all that the policy looks at. The first fields are known before
// the resource is read.
type Situation struct {
	Unselected bool           // the run is limited to others
	Stopped    error          // why the run is to end
	Cycle      []resource.Ref // the dependency cycle that it is part of
	Invalid    error          // it can't be bound to its type
	// Unscheduled is why this is not the time for it; nil if it is.
	Unscheduled error
	FailedDeps  []resource.Ref // what it comes after and failed, or was skipped for that
	NoProvider  error          // no provider can manage it, not even at the end of the run
	// Unsupported names attributes that its provider can't manage.
	Unsupported error
	ReadError   error

	Noop bool // report only
	// AppliedFirst are the resources that an apply would change first. They may bring the provider, or
	// make readable what is not.
	AppliedFirst []resource.Ref
	Changes      []resource.Change
	// ChangesDone says that the changes were handled and only events are left.
	ChangesDone bool
	Events      Events
	CanRefresh  bool
	Invalidated bool // the write made a refresh needless: a service was just started
}

// Decide is the whole policy of a transaction. It is asked before the resource is
// read (Changes nil), once it is read, and once its changes are settled; the answer
// Continue leads to the next of these.
func Decide(s Situation) Verdict {
	if v := Refusal(s); v.Action != Continue {
		return v
	}
	if len(s.Changes) > 0 && !s.ChangesDone {
		if s.Noop {
			return Verdict{Action: ReportNoop}
		}
		return Verdict{Action: Apply}
	}
	return onEvents(s)
}

// Refusal returns why a resource is not read or changed; its action is Continue if nothing prevents that.
// A resource that can't work at all fails even if its dependencies failed too: its author must know.
func Refusal(s Situation) Verdict {
	switch {
	case s.Unselected:
		return Verdict{Skip, "not selected"}
	case len(s.Cycle) > 0:
		return Verdict{Fail, "is part of a dependency cycle: " + arrows(s.Cycle)}
	case s.Invalid != nil:
		return Verdict{Fail, text.Error(s.Invalid)}
	case s.Unscheduled != nil:
		return Verdict{Skip, text.Error(s.Unscheduled)}
	case len(s.FailedDeps) > 0:
		return Verdict{Skip, "skipped because of failed dependencies: " + text.List(s.FailedDeps)}
	case s.Stopped != nil:
		return Verdict{Skip, "the run was stopped before its turn" + StopReason(s.Stopped)}
	case s.NoProvider != nil:
		return notReady(s, s.NoProvider)
	case s.Unsupported != nil:
		return Verdict{Fail, text.Error(s.Unsupported)}
	case s.ReadError != nil:
		return notReady(s, s.ReadError)
	}
	return Verdict{}
}

// notReady decides on a resource that can't be handled as things are. Where the run only
// reports, that is no failure as long as an apply would change other resources first.
func notReady(s Situation, err error) Verdict {
	if s.Noop && len(s.AppliedFirst) > 0 {
		return Verdict{Await, fmt.Sprintf("depends on %s, which would be applied first: %s", text.List(s.AppliedFirst), text.Error(err))}
	}
	return Verdict{Fail, text.Error(err)}
}

// onEvents decides on a refresh: one, however many events there are.
func onEvents(s Situation) Verdict {
	total := s.Events.Real + s.Events.Noop
	switch {
	case total+s.Events.Unknown == 0 || !s.CanRefresh || s.Invalidated:
		return Verdict{}
	case total == 0:
		return Verdict{ReportUnknown, MayRefresh(s.Events)}
	case s.Noop || s.Events.Real == 0:
		return Verdict{ReportNoop, "would have been refreshed by " + text.Count(total, "event")}
	}
	return Verdict{Refresh, "refreshed by " + text.Count(s.Events.Real, "event")}
}

// MayRefresh says that only an apply can tell whether these events cause a refresh.
func MayRefresh(e Events) string {
	return "may be refreshed by " + text.Count(e.Real+e.Noop+e.Unknown, "event")
}

// arrows writes a cycle as a => b => a.
func arrows(cycle []resource.Ref) string {
	var b strings.Builder
	for _, r := range cycle {
		b.WriteString(r.String() + " => ")
	}
	return b.String() + cycle[0].String()
}

// StopReason returns why a run was stopped, as the end of a sentence. It is empty if the run was
// merely canceled.
func StopReason(cause error) string {
	if errors.Is(cause, context.Canceled) {
		return ""
	}
	return ": " + cause.Error()
}
