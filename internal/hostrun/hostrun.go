// Package hostrun is what surrounds a run on a host: whether there may be one now, for
// how long, and the commands before and after it.
//
// Everything that runs a transaction on a host that it keeps goes through [Run], so that
// the command and the agent keep out of each other's way and obey the same switches.
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

// DefaultLimit is how long a run may take, where nobody says otherwise.
const DefaultLimit = time.Hour

// Options say how to run. Dir and Host are required.
type Options struct {
	Dir      string // of the state
	State    state.Options
	ReadOnly bool // keep no state: the run reports alone
	Host     host.Host
	// Limit is when a run ends that is not done: the resource in hand is finished, the
	// rest skipped, and the run failed. 0 is none.
	Limit time.Duration
	// Wait is how long to wait for another run to end.
	Wait time.Duration
	// Override runs although runs are disabled on the host.
	Override bool
	// Before and After are commands of the host around a run that is not ReadOnly: one
	// that fails makes the run fail, and Before keeps it from taking place. After comes
	// in any case, but where there could be no run at all.
	Before, After []string
	// Warn is told what a person should know.
	Warn func(message string)
}

// A LimitError is why a run was stopped whose time was up.
type LimitError struct{ Limit time.Duration }

// Error says how long it was.
func (e *LimitError) Error() string { return fmt.Sprintf("its time of %s was up", e.Limit) }

// Run runs a transaction, which gets the state and ends when ctx does. Without a report
// there was no run: the error is a *state.DisabledError, a *state.LockedError or says
// what went wrong. With one, it says that the run will not be remembered.
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
	return state.Disabled(o.Dir)
}

// around puts the commands around a run.
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

// command runs one of the two, if there is one.
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

// lastLine is the last line that a command wrote, where programs say what went wrong.
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

// retry is how often a lock is tried that someone else holds.
const retry = 100 * time.Millisecond

// open opens the state, after waiting for the process that holds its lock.
func (o Options) open(ctx context.Context) (*state.Store, error) {
	open := state.Open
	if o.ReadOnly {
		open = state.OpenReadOnly
	}
	waited := time.NewTimer(o.Wait)
	defer waited.Stop()
	for {
		store, err := open(o.Dir, o.State)
		if _, locked := errors.AsType[*state.LockedError](err); !locked || o.Wait <= 0 {
			return store, err
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
