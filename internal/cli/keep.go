package cli

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/fettle-dev/fettle/internal/drift"
	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/state"
)

// lookAgain is when to try a run again that could not take place.
const lookAgain = 5 * time.Second

// A keeper is a job that is done again and again.
type keeper struct {
	*job
	told  bool   // there was a run
	waits string // why there was none, when there was none last
	last  error  // what the last whole run comes to
}

// keep runs now, at the interval, and when something changes that a resource watches,
// until ctx ends. It then returns what the last whole run did.
func (j *job) keep(ctx context.Context) error {
	debug.SetGCPercent(100) // what stays is to be small
	lookout, err := drift.New(j.host, j.interval)
	j.unwatched(err)
	j.lookout = lookout
	defer func() { _ = lookout.Close() }() // nothing is buffered
	k := keeper{job: j, last: errStopped}
	for ctx.Err() == nil {
		report, err := j.run(ctx)
		if ctx.Err() != nil && (err != nil || report.Message != "") {
			break // it was cut short
		}
		wait, err := k.settle(report, err)
		if err != nil {
			return err
		}
		j.sleep(ctx, time.Now().Add(wait))
	}
	return k.last
}

// settle tells of a run, or why there was none, and says when the next is due. A first
// run that can't be is an error: nothing waits for what may never come right.
func (k *keeper) settle(report engine.Report, err error) (time.Duration, error) {
	switch {
	case err == nil:
		k.waits = ""
		k.last = exitCode(report, k.applyFlags)
		return k.interval, k.tell(report)
	case !k.told && !comesRight(err):
		return 0, err
	case err.Error() != k.waits:
		k.waits = err.Error()
		k.complain("no run for now: %v", err)
	}
	k.lookout.Forget()
	return lookAgain, nil
}

// tell tells of a run, unless it is one of many that found nothing to do.
func (k *keeper) tell(report engine.Report) error {
	if k.told && report.Status == "unchanged" {
		return nil
	}
	k.told = true
	return k.printReport(report, k.applyFlags)
}

// comesRight reports whether an error is that of a host which wants no run right now.
func comesRight(err error) bool {
	_, locked := errors.AsType[*state.LockedError](err)
	_, disabled := errors.AsType[*state.DisabledError](err)
	return locked || disabled
}

// sleep waits until a run is due: at the latest then, or for what changes.
func (j *job) sleep(ctx context.Context, then time.Time) {
	for {
		next := then
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
