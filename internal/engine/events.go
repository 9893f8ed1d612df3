package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/internal/engine/decide"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/text"
)

// handleEvents handles the events that a resource has received, once its changes are handled.
func (t *traversal) handleEvents(ctx context.Context, of *turn) {
	of.situation.Events = of.refresh.events
	if of.refreshesItself() {
		count(&of.situation.Events, of.result.events, of.situation.Changes)
	}
	of.reportEndedRefresh()
	if of.result.failed() {
		return
	}
	s := of.afterChanges()
	v := decide.Decide(s)
	switch v.Action {
	case decide.Refresh:
		t.makeRefresh(ctx, of, v.Reason)
	case decide.ReportNoop, decide.ReportUnknown:
		t.reportPendingRefresh(ctx, of, v)
	case decide.Continue, decide.Apply, decide.Await, decide.Skip, decide.Fail:
		of.reportVerdict(s, v)
	}
}

// reportVerdict reports why nothing more is done about a resource.
func (t *turn) reportVerdict(s decide.Situation, v decide.Verdict) {
	switch v.Action {
	case decide.Await:
		t.forecast.pending = true
		t.result.state, t.result.message = report.Noop, v.Reason
		t.markUnknown("comes after " + text.List(s.AppliedFirst))
	case decide.Skip:
		t.result.state, t.result.message = report.Skipped, v.Reason
		t.blocks = len(s.FailedDeps) > 0 && !s.Unselected
	case decide.Fail:
		t.result.state, t.result.message = report.Failed, v.Reason
	case decide.Continue, decide.Apply, decide.Refresh, decide.ReportNoop, decide.ReportUnknown: // nothing is left to do
	}
}

func (t *traversal) makeRefresh(ctx context.Context, of *turn, reason string) {
	t.beginWrite()
	err := resource.Guarded(func() error { return of.Resource.Refresh(ctx, t.writerFor(of, t.refreshes.job(of.node))) })
	t.epochs.wrote(of.node)
	if !errors.Is(err, resource.ErrNothingToRefresh) {
		of.reportRefresh(reason, err)
	}
}

func (t *turn) reportRefresh(reason string, err error) {
	ev := report.Event{Status: report.Success, Message: reason}
	if err != nil {
		ev.Status, ev.Message = report.Failure, "cannot refresh: "+text.Error(err)
	}
	t.result.add(ev)
	t.attachNotes()
}

// reportPendingRefresh reports a refresh that is not made in this run, unless there would be nothing to refresh.
func (t *traversal) reportPendingRefresh(ctx context.Context, of *turn, v decide.Verdict) {
	err := resource.Guarded(func() error {
		return of.Resource.PrecheckRefresh(ctx, t.predictor.call().Reader(t.calls.hostOf(of.node)), of.situation.Changes)
	})
	if errors.Is(err, resource.ErrNothingToRefresh) {
		if t.mayRefreshLater(of, err) {
			of.result.add(report.Event{Status: report.Pending, Message: decide.MayRefresh(of.situation.Events)})
		}
		return
	}
	unknown := unknownReasons(err)
	switch {
	case len(unknown) > 0:
		v.Reason = decide.MayRefresh(of.situation.Events)
	case of.noop:
		if err := t.predictor.obstacle(of, err); err != nil {
			of.result.fail(fmt.Errorf("cannot be refreshed: %w", err))
			return
		}
	}
	of.result.add(report.Event{Status: report.Pending, Message: v.Reason})
	if of.noop && v.Action == decide.ReportNoop {
		of.markUnknown(cmp.Or(strings.Join(unknown, ", "), "runs its refresh"))
	}
}

// mayRefreshLater reports whether there may be something to refresh by the time of an apply, though there is not now.
func (t *traversal) mayRefreshLater(of *turn, nothing error) bool {
	_, forNow := errors.AsType[*resource.ProvisionalError](nothing)
	return forNow && (of.result.unknown != "" || t.predictor.unknownBefore(of) != nil)
}

// resume takes over what an earlier process began. If the run has to stop meanwhile, a later run does that.
func (t *traversal) resume(ctx context.Context, of *turn) {
	if of.noop || of.isRefused() || !of.Resource.Abilities().Resume || t.ownership.isTakenOver(of.node) {
		return
	}
	began := t.Now()
	err := resource.Guarded(func() (err error) {
		of.ended, err = of.Resource.Resume(ctx, t.writer(of))
		return err
	})
	of.reading.took += t.Now().Sub(began)
	switch {
	case ctx.Err() != nil && err != nil:
		t.stop(ctx, of)
	case err != nil:
		of.situation.ReadError = err
	case of.ended != nil:
		t.reads.taken(of.node)
	}
}

// reportEndedRefresh reports a refresh that an earlier process began. Events since then are left.
func (t *turn) reportEndedRefresh() {
	if t.ended == nil || !t.ended.Job.Refresh {
		return
	}
	t.reportRefresh("refreshed by "+text.Count(max(1, t.ended.Job.Events), "event"), t.ended.Err)
	if t.ended.Err == nil {
		t.situation.Events.Real -= min(t.ended.Job.Events, t.refresh.earlier)
	}
}
