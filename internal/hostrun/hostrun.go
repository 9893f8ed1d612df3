// Package hostrun wraps a run on a host: it checks whether runs are enabled, locks the state, limits
// the duration, and runs the commands before and after.
//
// Both the command and the agent use [Run], so that they lock each other out and obey the same
// switches.
package hostrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/engine/report"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/internal/text"
)

// DefaultLimit is the default time limit of a run.
const DefaultLimit = time.Hour

// Options configure a run. Dir, Host and Warn are required.
type Options struct {
	Dir      string // the state directory
	State    state.Options
	ReadOnly bool // save no state: the run only reports
	Host     host.Host
	// Limit is the time limit of a run. A run that exceeds it finishes the current resource, skips
	// the others, and fails. 0 means no limit.
	Limit time.Duration
	// Wait is the time to wait for another run to end.
	Wait time.Duration
	// Waiting is called with the reason, once, if the run has to wait for another. It may be nil.
	Waiting func(*state.LockedError)
	// Override runs even if runs are disabled on the host.
	Override bool
	// Suspended returns an error if runs are disabled elsewhere than on the host. It may be nil.
	Suspended func() error
	// Before and After are commands of the host around a run that is not ReadOnly. If one fails,
	// the run fails; if Before fails, the run does not take place. After runs in any case, unless a
	// run was not possible at all.
	Before, After []string
	// Warn is called with warnings for people.
	Warn func(message string)
}

// A LimitError is the reason why a run that exceeded its time limit was stopped.
type LimitError struct{ Limit time.Duration }

// Error names the limit.
func (e *LimitError) Error() string { return fmt.Sprintf("its time limit of %s was exceeded", e.Limit) }

// Run runs a transaction with the state and a context that ends with ctx. If the report is empty,
// there was no run, and the error is a *state.DisabledError, that of Suspended, a *state.LockedError or another
// reason. Otherwise, an error means that the run's state was not saved.
func Run(ctx context.Context, o Options, transact func(context.Context, engine.Store) (report.Report, error)) (result report.Report, err error) {
	if err := o.disabled(); err != nil {
		return result, err
	}
	store, err := o.open(ctx)
	if err != nil {
		return result, err
	}
	defer func() {
		if closing := store.Close(); err == nil && closing != nil {
			err = fmt.Errorf("cannot close the state in %s: %w", o.Dir, closing)
		}
	}()
	for _, w := range store.Warnings() {
		o.Warn(w)
	}
	if err := o.disabled(); err != nil { // while we waited
		return result, err
	}
	result, err = o.around(ctx, func() (report.Report, error) {
		if o.Limit <= 0 {
			return transact(ctx, store)
		}
		limited, cancel := context.WithTimeoutCause(ctx, o.Limit, &LimitError{o.Limit})
		defer cancel()
		return transact(limited, store)
	})
	o.keep(result)
	return result, err
}

func (o Options) disabled() error {
	if o.Override {
		return nil
	}
	if err := state.Disabled(o.Dir); err != nil || o.Suspended == nil {
		return err
	}
	return o.Suspended()
}

// around runs the commands around a run.
func (o Options) around(ctx context.Context, run func() (report.Report, error)) (result report.Report, err error) {
	if err = o.command(ctx, "before", o.Before); err == nil {
		result, err = run()
	}
	if after := o.command(context.WithoutCancel(ctx), "after", o.After); after != nil {
		if result.Kind == "" {
			return result, errors.Join(err, after)
		}
		result.Fail(strings.TrimPrefix(result.Message+"; "+after.Error(), "; "))
	}
	return result, err
}

// command runs one of the commands, if it is set.
func (o Options) command(ctx context.Context, when string, argv []string) error {
	if len(argv) == 0 || o.ReadOnly {
		return nil
	}
	res, err := o.Host.Run(ctx, host.Cmd{Args: argv})
	if err != nil {
		return fmt.Errorf("the command %s the run failed: %w", when, err)
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("the command %s the run failed: %s exited with %d%s", when, argv[0], res.ExitCode, lastLine(res))
	}
	return nil
}

// lastLine returns the last line of a command's output, where programs usually report errors.
func lastLine(res host.Result) string {
	const most = 200
	output := strings.TrimSpace(string(res.Stderr))
	if output == "" {
		output = strings.TrimSpace(string(res.Stdout))
	}
	if output == "" {
		return ""
	}
	return ": " + text.Clip(output[strings.LastIndexByte(output, '\n')+1:], most)
}

// retry is the interval at which a lock that another process has is tried again.
const retry = 100 * time.Millisecond

// open opens the state, after waiting for the process that holds its lock.
func (o Options) open(ctx context.Context) (*state.Store, error) {
	open := state.Open
	if o.ReadOnly {
		open = state.OpenReadOnly
	}
	waited := time.NewTimer(o.Wait)
	defer waited.Stop()
	for first := true; ; first = false {
		store, err := open(o.Dir, o.State)
		locked, is := errors.AsType[*state.LockedError](err)
		if !is || o.Wait <= 0 {
			return store, err
		}
		if first && o.Waiting != nil {
			o.Waiting(locked)
		}
		again := time.NewTimer(retry)
		select {
		case <-again.C:
		case <-waited.C:
			return store, err
		case <-ctx.Done():
			return store, err
		}
	}
}
