package job

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"k8s.io/utils/clock"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/reconcile"
	"github.com/fettle-dev/fettle/internal/state"
)

// retryAfter is when to retry a run that could not take place.
const retryAfter = 5 * time.Second

// A watcher is a job that runs again and again.
type watcher struct {
	*Job
	catalog reconcile.Catalog // of the last run
	ran     bool              // at least once
	waiting string            // why the last run did not take place; "" if it did
	last    error             // the exit code of the last complete run
	failure error             // of printing
	tally   tally
}

// Watch runs now and at the interval, and corrects drift as soon as something changes that a resource watches, until ctx ends. It
// then returns the exit code of the last complete run.
func (j *Job) Watch(ctx context.Context) error {
	debug.SetGCPercent(100) // a long-lived process should be small
	w := &watcher{Job: j, last: ErrStopped}
	j.loop = &reconcile.Loop{Clock: clock.RealClock{}, Corrected: w.onCorrected, Warn: j.warnUnwatched}
	watcher, err := drift.New(j.Host, j.Interval)
	if err != nil {
		j.warnUnwatched(err)
	}
	j.loop.Watcher = watcher
	defer func() { _ = watcher.Close() }() // nothing is buffered
	defer j.Printer.EndProgress()
	for ctx.Err() == nil && w.failure == nil {
		o, err := w.run(ctx)
		if ctx.Err() != nil && (err != nil || o.Report.Message != "") {
			break // it was interrupted
		}
		wait, err := w.finish(o.Report, ExplainPermission(err))
		if err != nil {
			return err
		}
		w.correctUntil(ctx, time.Now().Add(wait))
	}
	return errors.Join(w.failure, w.last)
}

// run compiles the manifests again, since the facts of the host may have changed, and applies them.
func (w *watcher) run(ctx context.Context) (reconcile.Outcome, error) {
	var done func()
	o, err := w.loop.Run(ctx, w.Control, func(engine.Store) reconcile.Catalog {
		w.catalog = w.Job.catalog()
		c := w.catalog
		done = w.showProgress(ctx, &c)
		return c
	})
	if done != nil {
		done()
	}
	return o, err
}

// correctUntil waits until a time, or until a run is due because of drift, and corrects drift meanwhile.
func (w *watcher) correctUntil(ctx context.Context, until time.Time) {
	for ctx.Err() == nil && w.failure == nil {
		w.await(ctx, until)
		switch {
		case ctx.Err() != nil:
		case w.loop.CorrectionDue():
			w.correct(ctx)
		case w.loop.RunDue(), !time.Now().Before(until):
			return
		}
	}
}

// await waits until a time, or for a change on the host.
func (w *watcher) await(ctx context.Context, until time.Time) {
	if due := w.loop.Due(); !due.IsZero() && due.Before(until) {
		until = due
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-w.loop.Watcher.Ready():
		w.loop.Poll()
	case <-timer.C:
	case <-ctx.Done():
	}
}

// correct corrects the drift that is due.
func (w *watcher) correct(ctx context.Context) {
	var done func()
	w.loop.Correct(ctx, w.Control, func(engine.Store) reconcile.Catalog {
		c := w.catalog
		done = w.showProgress(ctx, &c)
		return c
	})
	if done != nil {
		done()
	}
}

// onCorrected prints a correction.
func (w *watcher) onCorrected(o reconcile.Outcome, err error) {
	if err != nil {
		w.warnWaiting(ExplainPermission(err)) // the run that follows retries
		return
	}
	w.tally = w.tally.with(o.Report, time.Now())
	if o.Report.Status == "failed" {
		w.last = w.exitCode(o.Report)
	}
	if result := o.Report; result.Status != "unchanged" {
		if w.Style.Format == "text" { // the last line of which is about all resources
			result.Counts = w.tally.counts
		}
		w.failure = w.Printer.Report(result, w.Style)
	}
	w.Printer.ShowProgress(w.tally.String())
}

// finish prints a run, or why there was none, and returns the time until the next. If the first run can't take
// place, that is an error: it may never become possible.
func (w *watcher) finish(result report.Report, err error) (time.Duration, error) {
	switch {
	case err == nil:
		w.waiting = ""
		w.last = w.exitCode(result)
		w.tally = w.tally.with(result, time.Now())
		err := w.print(result)
		w.Printer.ShowProgress(w.tally.String())
		return w.Interval, err
	case !w.ran && !isTemporary(err):
		return 0, err
	}
	w.warnWaiting(err)
	w.loop.Watcher.Forget()
	return retryAfter, nil
}

// warnWaiting prints once why there is no run.
func (w *watcher) warnWaiting(err error) {
	if err.Error() != w.waiting {
		w.waiting = err.Error()
		w.Printer.Warn("no run for now: %v", err)
	}
}

// print prints the first run, and later ones that are not unchanged.
func (w *watcher) print(result report.Report) error {
	if w.ran && result.Status == "unchanged" {
		return nil
	}
	w.ran = true
	return w.Printer.Report(result, w.Style)
}

// isTemporary reports whether another run is in progress or runs are disabled.
func isTemporary(err error) bool {
	_, locked := errors.AsType[*state.LockedError](err)
	_, disabled := errors.AsType[*state.DisabledError](err)
	return locked || disabled
}
