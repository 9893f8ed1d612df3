package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// settle deals with events that came to a resource, once its changes are dealt with.
func (r *run) settle(ctx context.Context, e *entry) {
	if e.refreshesItself() {
		e.situation.Events.count(e.report.Events)
	}
	if e.failed() {
		return
	}
	s := e.settled()
	v := Decide(s)
	switch v.Action {
	case Refresh:
		r.refresh(ctx, e, v.Reason)
	case Pretend:
		e.report.Events = append(e.report.Events, Event{Status: Pending, Message: v.Reason})
	case Await:
		e.pending = true
		e.report.State, e.report.Message = Noop, v.Reason
	case Skip:
		e.report.State, e.report.Message = Skipped, v.Reason
		e.bad = len(s.FailedDeps) > 0 && !s.Unselected
	case Fail:
		e.report.State, e.report.Message = Failed, v.Reason
	case Keep, Apply: // nothing is left to do
	}
}

// settled is the situation once the changes are dealt with.
func (e *entry) settled() Situation {
	s := e.situation
	s.Settled = true
	for _, c := range s.Changes {
		s.Invalidated = s.Invalidated || c.InvalidatesRefresh
	}
	return s
}

func (r *run) refresh(ctx context.Context, e *entry, reason string) {
	r.disturb()
	err := resource.Guarded(func() error { return e.Resource.Refresh(ctx, r.writer(e)) })
	r.wrote(e)
	if errors.Is(err, resource.ErrNothingToRefresh) {
		return
	}
	ev := Event{Status: Success, Message: reason}
	if err != nil {
		ev.Status, ev.Message = Failure, "cannot refresh: "+text.Error(err)
	}
	e.report.Events = append(e.report.Events, ev)
	e.tell()
}

// finish ends a resource and releases what comes after it.
func (r *run) finish(e *entry) {
	e.done = true
	e.writtenAt = max(e.writtenAt, r.writtenBefore(e))
	r.conclude(e)
	r.remember(e)
	e.reported = len(r.reports)
	r.tell(e.report)
	r.queue.Done(e.node)
}

// conclude gives the resource its state and passes its events on.
func (r *run) conclude(e *entry) {
	e.report.State = e.state()
	e.bad = e.bad || e.report.State == Failed
	if e.report.State == Failed && e.report.Message == "" {
		e.report.Message = firstFailure(e.report.Events)
	}
	if !e.began.IsZero() {
		e.report.Duration = Duration(r.Now().Sub(e.began))
	}
	e.setLevels()
	r.send(e)
}

// setLevels gives events the level of their resource, and failures that of errors.
func (e *entry) setLevels() {
	for i := range e.report.Events {
		ev := &e.report.Events[i]
		if ev.Level = e.LogLevel; ev.Status == Failure {
			ev.Level = resource.LevelErr
		}
	}
}

// state follows from the events.
func (e *entry) state() State {
	if e.report.State != "" {
		return e.report.State
	}
	s := InSync
	for _, ev := range e.report.Events {
		switch {
		case ev.Status == Failure:
			return Failed
		case ev.Status == Audit: // says how it is, not what was done
		case ev.Status == Pending && s == InSync:
			s = Noop
		case ev.Status == Pending: // of a refresh, after a change
		case ev.Property != "":
			s = Changed
		case s == InSync:
			s = Refreshed
		}
	}
	return s
}

func firstFailure(events []Event) string {
	for _, ev := range events {
		if ev.Status == Failure {
			return ev.Message
		}
	}
	return ""
}

// send passes events on. What comes after a resource that failed is skipped; the
// refreshes for what that one did change stay due until a later run gets to them.
func (r *run) send(e *entry) {
	for _, n := range r.plan.refreshes[e.node] {
		events := &r.entries[n].situation.Events
		events.count(e.report.Events)
		events.countAudits(e.report.Events, r.forgets(e))
	}
}

// count counts what was changed, or would be.
func (n *Events) count(events []Event) {
	for _, ev := range events {
		switch ev.Status {
		case Success:
			n.Real++
		case Pending:
			n.Noop++
		case Failure, Audit: // changed nothing
		}
	}
}

// refreshesItself reports whether a resource's own changes refresh it, as its type says;
// what goes away needs no refresh.
func (e *entry) refreshesItself() bool {
	changes := e.situation.Changes
	return len(changes) > 0 && e.Resource.SelfRefresh() && !changes[0].Removes()
}

// arm notes on disk which refreshes become due by changing a group.
func (r *run) arm(group []*entry) error {
	var due []resource.Ref
	for _, e := range group {
		for _, n := range r.plan.refreshes[e.node] {
			r.entries[n].due = true
			due = append(due, r.entries[n].thing)
		}
		if e.refreshesItself() {
			e.due = true
			due = append(due, e.thing)
		}
	}
	if len(due) == 0 {
		return nil
	}
	if err := r.Store.Arm(due); err != nil {
		return fmt.Errorf("cannot note on disk what this change must refresh: %w", err)
	}
	return nil
}

// forgets reports whether nothing is remembered of a resource: the whole run only
// looks at what would be.
func (r *run) forgets(e *entry) bool { return r.Noop && e.situation.Noop }

// remember saves what later runs tell drift from, and strikes off a refresh that is
// not due any more: it stays due when the resource did not get to it, or when it only
// reports because the whole run does.
func (r *run) remember(e *entry) {
	if r.forgets(e) {
		return
	}
	if e.Deletes != nil {
		r.disclaim(e)
		return
	}
	r.record(e)
	r.check(e)
	r.reclaim(e)
	left := e.report.State == Failed || e.report.State == Skipped
	if (!left || e.situation.Events.Real == 0) && e.due {
		// A lost strike-off costs one needless refresh, and no run.
		_ = r.Store.Disarm([]resource.Ref{e.thing, resource.UnboundThing(e.Ref)})
	}
	if !e.looked {
		return
	}
	old := r.Store.Observed(e.thing)
	if values := remembered(e.comparison, old); !maps.Equal(old, values) {
		r.Store.SetObserved(e.thing, values)
	}
}

// remembered is what to tell drift from after a comparison: the values that are as they
// should be, and of those that are not, because they could not be changed or were only
// reported, what was remembered before. So it is still drift when it is corrected, and
// what was not yet done of a new intention never is.
func remembered(c resource.Comparison, old map[string]string) map[string]string {
	if len(c.Changes) == 0 {
		return c.Observed
	}
	values := maps.Clone(c.Observed)
	if c.Changes[0].Property == resource.Ensure { // the others were not looked at
		maps.Copy(values, old)
	}
	for _, change := range c.Changes {
		if last, known := old[change.Property]; known {
			values[change.Property] = last
		}
	}
	return values
}
