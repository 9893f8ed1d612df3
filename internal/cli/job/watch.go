package job

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/state"
)

// retryAfter is when to retry a run that could not take place.
const retryAfter = 5 * time.Second

// A watcher is a job that runs again and again.
type watcher struct {
	*Job
	ran     bool   // at least once
	waiting string // why the last run did not take place; "" if it did
	last    error  // the exit code of the last complete run
	tally   tally
}

// Watch runs now, at the interval, and whenever something changes that a resource watches, until ctx ends. It
// then returns the exit code of the last complete run.
func (j *Job) Watch(ctx context.Context) error {
	debug.SetGCPercent(100) // a long-lived process should be small
	lookout, err := drift.New(j.Host, j.Interval)
	j.warnUnwatched(err)
	j.lookout = lookout
	defer func() { _ = lookout.Close() }() // nothing is buffered
	w := watcher{Job: j, last: ErrStopped}
	defer j.Printer.EndProgress()
	for ctx.Err() == nil {
		result, err := j.run(ctx)
		if ctx.Err() != nil && (err != nil || result.Message != "") {
			break // it was interrupted
		}
		wait, err := w.finish(result, err)
		if err != nil {
			return err
		}
		j.sleep(ctx, time.Now().Add(wait))
	}
	return w.last
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
	case err.Error() != w.waiting:
		w.waiting = err.Error()
		w.Printer.Warn("no run for now: %v", err)
	}
	w.lookout.Forget()
	return retryAfter, nil
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

// sleep waits until a time, or until drift is due to be corrected.
func (j *Job) sleep(ctx context.Context, until time.Time) {
	for {
		next := until
		if due := j.lookout.Due(); !due.IsZero() && due.Before(next) {
			next = due
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
			return
		case <-j.lookout.Ready():
			timer.Stop()
			j.lookout.See(time.Now())
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
