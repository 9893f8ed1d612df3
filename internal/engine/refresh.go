package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/engine/audit"
	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// applyEvents handles the events that a resource has received, once its changes are handled.
func (r *run) applyEvents(ctx context.Context, e *entry) {
	if e.refreshesItself() {
		count(&e.situation.Events, e.report.Events, e.situation.Changes)
	}
	r.reportEndedRefresh(e)
	if e.failed() {
		return
	}
	s := e.afterChanges()
	v := decide.Decide(s)
	switch v.Action {
	case decide.Refresh:
		r.refresh(ctx, e, v.Reason)
	case decide.ReportNoop, decide.ReportUnknown:
		r.reportPendingRefresh(ctx, e, v)
	case decide.Keep, decide.Apply, decide.Await, decide.Skip, decide.Fail:
		e.reportVerdict(s, v)
	}
}

// reportPendingRefresh reports a refresh that is not made in this run, unless there would be nothing to refresh.
func (r *run) reportPendingRefresh(ctx context.Context, e *entry, v decide.Verdict) {
	err := resource.Guarded(func() error {
		return e.Resource.PrecheckRefresh(ctx, r.planningCall().Reader(r.hostOf(e)), e.situation.Changes)
	})
	if errors.Is(err, resource.ErrNothingToRefresh) {
		if r.mayRefreshLater(e, err) {
			e.report.Events = append(e.report.Events, report.Event{Status: report.Pending, Message: decide.MayRefresh(e.situation.Events)})
		}
		return
	}
	unknown := unknownReasons(err)
	switch {
	case len(unknown) > 0:
		v.Reason = decide.MayRefresh(e.situation.Events)
	case e.situation.Noop:
		if err := r.obstacle(e, err); err != nil {
			e.fail(fmt.Errorf("cannot be refreshed: %w", err))
			return
		}
	}
	e.report.Events = append(e.report.Events, report.Event{Status: report.Pending, Message: v.Reason})
	if e.situation.Noop && v.Action == decide.ReportNoop {
		e.noteUnknown(cmp.Or(strings.Join(unknown, ", "), "runs its refresh"))
	}
}

// mayRefreshLater reports whether there may be something to refresh by the time of an apply, though there is not now.
func (r *run) mayRefreshLater(e *entry, nothing error) bool {
	_, forNow := errors.AsType[*resource.ProvisionalError](nothing)
	return forNow && (e.report.Unknown != "" || r.unknownBefore(e) != nil)
}

// reportVerdict reports why nothing more is done about a resource.
func (e *entry) reportVerdict(s decide.Situation, v decide.Verdict) {
	switch v.Action {
	case decide.Await:
		e.pending = true
		e.report.State, e.report.Message = report.Noop, v.Reason
		e.noteUnknown("comes after " + text.List(s.AppliedFirst))
	case decide.Skip:
		e.report.State, e.report.Message = report.Skipped, v.Reason
		e.blocksDependents = len(s.FailedDeps) > 0 && !s.Unselected
	case decide.Fail:
		e.report.State, e.report.Message = report.Failed, v.Reason
	case decide.Keep, decide.Apply, decide.Refresh, decide.ReportNoop, decide.ReportUnknown: // nothing is left to do
	}
}

func (r *run) refresh(ctx context.Context, e *entry, reason string) {
	r.beforeWrite()
	err := resource.Guarded(func() error { return e.Resource.Refresh(ctx, r.writerFor(e, r.refreshJob(e))) })
	r.recordWrite(e)
	if !errors.Is(err, resource.ErrNothingToRefresh) {
		e.reportRefresh(reason, err)
	}
}

// refreshJob identifies a refresh by the pending events on disk.
func (r *run) refreshJob(e *entry) host.Job {
	job := host.Job{Owner: e.thing.String(), Refresh: true}
	if e.Resource.Abilities().Resume {
		armed := r.Store.Armed()
		job.Events = armed[e.thing] + armed[resource.UnboundThing(e.Ref)]
	}
	return job
}

func (e *entry) reportRefresh(reason string, err error) {
	ev := report.Event{Status: report.Success, Message: reason}
	if err != nil {
		ev.Status, ev.Message = report.Failure, "cannot refresh: "+text.Error(err)
	}
	e.report.Events = append(e.report.Events, ev)
	e.attachNotes()
}

// resume takes over what an earlier process began. If the run has to stop meanwhile, a later run does that.
func (r *run) resume(ctx context.Context, e *entry) {
	if e.situation.Noop || decide.Refusal(e.situation).Action != decide.Keep || !e.Resource.Abilities().Resume || r.claimTakenOver(e) {
		return
	}
	began := r.Now()
	err := resource.Guarded(func() (err error) {
		e.ended, err = e.Resource.Resume(ctx, r.writer(e))
		return err
	})
	e.took += r.Now().Sub(began)
	switch {
	case ctx.Err() != nil && err != nil:
		r.stopped = context.Cause(ctx)
		e.situation.Stopped = r.stopped
	case err != nil:
		e.situation.ReadError = err
	case e.ended != nil:
		e.readAt = r.writes + 1
	}
}

// reportEndedRefresh reports a refresh that an earlier process began. Events since then are left.
func (r *run) reportEndedRefresh(e *entry) {
	if e.ended == nil || !e.ended.Job.Refresh {
		return
	}
	e.reportRefresh("refreshed by "+text.Count(max(1, e.ended.Job.Events), "event"), e.ended.Err)
	if e.ended.Err == nil {
		e.situation.Events.Real -= min(e.ended.Job.Events, e.armed)
	}
}

// notifyDependents passes events on. Dependents of a failed resource are skipped, and their
// refreshes stay pending for a later run.
func (r *run) notifyDependents(e *entry) {
	for _, n := range r.plan.Refreshes[e.node] {
		events := &r.entries[n].situation.Events
		count(events, e.report.Events, e.situation.Changes)
		countAudits(events, e.report.Events, r.remembersNothing(e))
	}
}

// count counts changes that were made, would be, or may be.
func count(n *decide.Events, events []report.Event, changes []resource.Change) {
	for _, ev := range events {
		unknown := func(c resource.Change) bool { return c.Property == ev.Property && c.Unknown != "" }
		switch {
		case ev.Status == report.Success:
			n.Real++
		case ev.Status == report.Pending && slices.ContainsFunc(changes, unknown):
			n.Unknown++
		case ev.Status == report.Pending:
			n.Noop++
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
