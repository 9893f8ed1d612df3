package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/internal/engine/audit"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// applyEvents handles the events that a resource has received, once its changes are handled.
func (r *run) applyEvents(ctx context.Context, e *entry) {
	if e.refreshesItself() {
		count(&e.situation.Events, e.report.Events)
	}
	if e.failed() {
		return
	}
	s := e.afterChanges()
	v := decide.Decide(s)
	switch v.Action {
	case decide.Refresh:
		r.refresh(ctx, e, v.Reason)
	case decide.ReportNoop:
		e.report.Events = append(e.report.Events, report.Event{Status: report.Pending, Message: v.Reason})
	case decide.Await:
		e.pending = true
		e.report.State, e.report.Message = report.Noop, v.Reason
	case decide.Skip:
		e.report.State, e.report.Message = report.Skipped, v.Reason
		e.blocksDependents = len(s.FailedDeps) > 0 && !s.Unselected
	case decide.Fail:
		e.report.State, e.report.Message = report.Failed, v.Reason
	case decide.Keep, decide.Apply: // nothing is left to do
	}
}

func (r *run) refresh(ctx context.Context, e *entry, reason string) {
	r.beforeWrite()
	err := resource.Guarded(func() error { return e.Resource.Refresh(ctx, r.writer(e)) })
	r.recordWrite(e)
	if errors.Is(err, resource.ErrNothingToRefresh) {
		return
	}
	ev := report.Event{Status: report.Success, Message: reason}
	if err != nil {
		ev.Status, ev.Message = report.Failure, "cannot refresh: "+text.Error(err)
	}
	e.report.Events = append(e.report.Events, ev)
	e.attachNotes()
}

// notifyDependents passes events on. Dependents of a failed resource are skipped, and their
// refreshes stay pending for a later run.
func (r *run) notifyDependents(e *entry) {
	for _, n := range r.plan.Refreshes[e.node] {
		events := &r.entries[n].situation.Events
		count(events, e.report.Events)
		countAudits(events, e.report.Events, r.remembersNothing(e))
	}
}

// count counts changes that were made or would be.
func count(n *decide.Events, events []report.Event) {
	for _, ev := range events {
		switch ev.Status {
		case report.Success:
			n.Real++
		case report.Pending:
			n.Noop++
		case report.Failure, report.Audit: // changed nothing
		}
	}
}

// armRefreshes records on disk which refreshes become due by changing a group.
func (r *run) armRefreshes(group []*entry) error {
	var due []resource.Ref
	for _, e := range group {
		for _, n := range r.plan.Refreshes[e.node] {
			r.entries[n].refreshDue = true
			due = append(due, r.entries[n].thing)
		}
		if e.refreshesItself() {
			e.refreshDue = true
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

// countAudits counts the changes that audits found. If the run remembers nothing, the next one finds
// them again.
func countAudits(n *decide.Events, events []report.Event, forgotten bool) {
	for _, ev := range events {
		switch {
		case !audit.IsChange(ev):
		case forgotten:
			n.Noop++
		default:
			n.Real++
		}
	}
}
