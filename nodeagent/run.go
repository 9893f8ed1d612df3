package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/facts"
	"github.com/fettle-dev/fettle/internal/reconcile"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/text"
	"github.com/fettle-dev/fettle/nodeagent/status"
)

// run runs the target and updates the status.
func (a *Agent) run(ctx context.Context, trigger v1alpha1.RunTrigger) {
	a.simulations.end()
	before := a.failure
	a.failure = nil
	a.schedule.Ran(a.Clock.Now())
	a.rotateKeys()
	if err := a.watchHost(); err != nil {
		a.Log.Debug("the host cannot be watched", "error", err)
	}
	is := a.factsFor(ctx, trigger)
	if a.target == nil {
		if why := a.whyDisabled(); why != "" {
			a.failure = &status.Problem{Reason: v1alpha1.ReasonDisabled, Message: why}
		}
		a.ready.succeeded() // there is nothing to run
		a.updateStatus(is, nil)
		return
	}
	if !a.started {
		trigger = v1alpha1.TriggerStart
	}
	result, err := a.runner.run(ctx, a.task(is))
	if ctx.Err() != nil {
		return // the run was interrupted: the next start repeats it
	}
	a.schedule.Ran(a.Clock.Now())
	if err != nil {
		a.onRunFailed(trigger, result, err)
		a.onRunError(is, err, before)
		return
	}
	a.started = true
	a.ready.succeeded()
	a.report(is, trigger, result)
}

// task is the target as it is run now.
func (a *Agent) task(is resource.Facts) task {
	return task{Target: a.target, facts: is, prev: a.published.status.Resources, acts: a.acts()}
}

// correct corrects the drift that is due.
func (a *Agent) correct(ctx context.Context) {
	a.simulations.end()
	a.runner.correct(ctx, a.task(a.known))
}

// onCorrected reports a correction. If one between two runs was not possible, the next run is a retry.
func (a *Agent) onCorrected(o reconcile.Outcome, err error) {
	switch {
	case err != nil && o.DuringRun:
		a.Log.Error("the state after a correction was not saved", "error", err)
	case err != nil:
		a.onRunFailed(v1alpha1.TriggerDrift, o, err)
		a.onRunError(a.known, err, a.failure)
		return
	}
	a.report(nil, v1alpha1.TriggerDrift, o)
}

// report reports a run or a correction.
func (a *Agent) report(is resource.Facts, trigger v1alpha1.RunTrigger, o reconcile.Outcome) {
	now := a.Clock.Now()
	result := o.Report
	result.CachedCatalogStatus = a.cachedCatalogStatus()
	contended := a.loop.Watcher.Contended(now)
	a.Ran(RunSummary{Trigger: trigger, Report: result, Noticed: o.Noticed, Ended: now, Contended: len(contended)})
	a.logRun(trigger, result)
	a.updateStatus(is, &status.Run{
		Report: result, Generation: a.target.Generation, Trigger: trigger, Withheld: a.target.Spec.Withheld, Contended: contended,
	})
}

// onRunFailed counts a run that did not start, or whose state was not saved.
func (a *Agent) onRunFailed(trigger v1alpha1.RunTrigger, o reconcile.Outcome, err error) {
	a.Ran(RunSummary{Trigger: trigger, Report: o.Report, Err: err, Noticed: o.Noticed, Ended: a.Clock.Now()})
}

// acts reports whether the agent is the one to act for the resources of Remote types in the target.
func (a *Agent) acts() bool { return a.isConfirmed() && a.fence.Check(a.Clock.Now()) == nil }

func (a *Agent) rotateKeys() {
	var applied []v1alpha1.CatalogEntry
	if a.target != nil {
		applied = a.target.Entries
	}
	a.keys.Rotate(a.object, applied)
}

// factsFor returns the facts of the host for a run. Drift is corrected with those of the last other run: gathering may run
// programs of the host's administrator.
func (a *Agent) factsFor(ctx context.Context, trigger v1alpha1.RunTrigger) resource.Facts {
	if trigger != v1alpha1.TriggerDrift || a.known == nil {
		a.known = a.facts(ctx)
	}
	return a.known
}

// facts gathers the facts of the host.
func (a *Agent) facts(ctx context.Context) resource.Facts {
	all, errs := facts.Gather(ctx, a.Host)
	for _, err := range errs {
		a.Log.Debug("a fact is missing", "error", err)
	}
	return all
}

// onRunError schedules a retry. Another run in progress is not a failure. Disabled runs are logged once.
func (a *Agent) onRunError(is resource.Facts, err error, before *status.Problem) {
	a.failure = &status.Problem{Reason: v1alpha1.ReasonRunFailed, Message: text.Error(err)}
	a.schedule.Failed(a.Clock.Now())
	a.loop.Watcher.Forget()
	a.ready.failed(err)
	if _, locked := errors.AsType[*state.LockedError](err); locked {
		a.Log.Info("the run waits", "reason", err)
		return
	}
	if isDisabled(err) {
		a.failure = &status.Problem{Reason: v1alpha1.ReasonDisabled, Message: cmp.Or(a.whyDisabled(), err.Error())}
		a.ready.succeeded()
		if before == nil || *before != *a.failure {
			a.Log.Warn("runs are disabled", "reason", a.failure.Message)
		}
	} else {
		a.Log.Error("the run failed", "error", err)
	}
	a.updateStatus(is, nil)
}

func (a *Agent) logRun(trigger v1alpha1.RunTrigger, result report.Report) {
	level := slog.LevelDebug
	switch {
	case result.Message != "":
		level = slog.LevelError
	case result.Status == "changed", trigger == v1alpha1.TriggerStart, trigger == v1alpha1.TriggerChange:
		level = slog.LevelInfo
	}
	attributes := []any{"trigger", string(trigger), "catalog", result.CatalogDigest, "cachedCatalogStatus", result.CachedCatalogStatus}
	if result.Message != "" {
		attributes = append(attributes, "reason", result.Message)
	}
	a.Log.Log(context.Background(), level, result.Summary(), attributes...)
}
