package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// posix runs commands directly, or by the host's /bin/sh.
type posix struct{}

// Name implements [resource.Provider].
func (posix) Name() string { return "posix" }

// Suits implements [resource.Provider]: every host runs commands.
func (posix) Suits(resource.Facts, host.Reader) error { return nil }

// Read implements [resource.Provider]: it runs the checks. The host has no other state of a command,
// so the rest is as desired, without values that may be secret.
func (posix) Read(ctx context.Context, h resource.Reader, want Attributes) (is Attributes, err error) {
	is = state(want)
	if want.Command == "" {
		return is, errors.New("cannot look up an Exec by its name: apply one with a command instead")
	}
	if ptr.Deref(want.RefreshOnly, false) {
		return is, nil
	}
	is.due, err = allowed(ctx, h, want)
	return is, err
}

// state returns the state of an Exec that is not due, without values that may be secret.
func state(want Attributes) Attributes {
	want.Environment, want.secret = nil, nil
	return want
}

// Write implements [resource.Provider].
func (posix) Write(ctx context.Context, h resource.Writer, _, want Attributes, _ []resource.Change) error {
	argv, err := commandWords(want)
	if err == nil {
		err = unusableCwd(h, want)
	}
	if err != nil {
		return err
	}
	return run(ctx, h, argv, want, nil)
}

// Resume implements [resource.Resumer]. Without an end that the manifest still asks for, the command may run again.
func (posix) Resume(ctx context.Context, h resource.Writer, want Attributes) (is Attributes, ended *resource.Ended, err error) {
	found, err := h.Resume(ctx, h.Job().Owner)
	if err != nil || found == nil {
		return is, nil, err
	}
	argv, err := commandWords(want)
	if found.Job.Refresh {
		argv, err = refreshWords(want)
	}
	if err == nil {
		argv, err = find(h, argv, want)
	}
	if err != nil || !slices.Equal(argv, found.Args) {
		h.Note("waited for an earlier command of this Exec, which has changed since\n")
		return is, nil, nil
	}
	is = state(want)
	is.due = !found.Job.Refresh
	return is, &resource.Ended{Job: found.Job, Err: run(ctx, h, argv, want, found)}, nil
}

// Refresh implements [resource.Refresher]. The checks apply here too, refreshOnly does not.
func (posix) Refresh(ctx context.Context, h resource.Writer, _, want Attributes) error {
	ok, err := allowed(ctx, h, want)
	if err != nil {
		return err
	}
	if !ok {
		return resource.ErrNothingToRefresh
	}
	if want.Refresh == nil {
		return posix{}.Write(ctx, h, Attributes{}, want, nil)
	}
	argv, err := refreshWords(want)
	if err != nil {
		return err
	}
	return run(ctx, h, argv, want, nil)
}

// refreshWords returns the words of the command that a notified Exec runs.
func refreshWords(want Attributes) ([]string, error) {
	if want.Refresh == nil {
		return commandWords(want)
	}
	return words(*want.Refresh, want)
}

// allowed runs the checks in Puppet's order, creates, unless and onlyIf, until one fails.
func allowed(ctx context.Context, h resource.Reader, a Attributes) (bool, error) {
	if made, err := created(h, a); made || err != nil {
		return false, err
	}
	for _, line := range a.Unless {
		if yes, err := check(ctx, h, "unless", line, a); yes || err != nil {
			return false, err
		}
	}
	for _, line := range a.OnlyIf {
		if yes, err := check(ctx, h, "onlyIf", line, a); !yes || err != nil {
			return false, err
		}
	}
	return true, nil
}

// created reports whether one of the paths of creates exists, in a plan with what Files would have made or removed by then.
func created(h resource.Reader, a Attributes) (bool, error) {
	planned := resource.PlannedNames(h, "File")
	for _, file := range a.Creates {
		there, known := expected(planned, file)
		if known && there {
			return true, nil
		}
		if known {
			continue
		}
		_, err := h.Stat(file)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("cannot find out whether creates %s exists: %w", file, err)
		}
	}
	return false, nil
}

// expected reports whether a path would exist after planned changes of files, if they determine it: nothing is below one that is removed.
func expected(planned map[string]bool, file string) (there, known bool) {
	if there, known = planned[file]; known {
		return there, true
	}
	for dir := path.Dir(path.Join("/", file)); dir != "/"; dir = path.Dir(dir) {
		if there, known := planned[dir]; known && !there {
			return false, true
		}
	}
	return false, false
}

// notFound is the exit code of a shell that can't find a command. It is neither the result of a check
// nor a success.
const notFound = 127

// check runs a check and reports whether it exits with 0. A check that times out or can't be run is
// an error, and the command is not run.
func check(ctx context.Context, h host.Reader, attribute, line string, a Attributes) (bool, error) {
	res, err := query(ctx, h, line, a)
	if err == nil && res.ExitCode == notFound {
		err = fmt.Errorf("it exited with %d: command not found", notFound)
	}
	if err != nil {
		return false, fmt.Errorf("cannot check %s %q: %w", attribute, shown(line, a), err)
	}
	return res.ExitCode == 0, nil
}

func query(ctx context.Context, h host.Reader, line string, a Attributes) (host.Result, error) {
	argv, err := words(line, a)
	if err != nil {
		return host.Result{}, err
	}
	cmd, err := complete(h, argv, a)
	if err != nil {
		return host.Result{}, err
	}
	return h.Query(ctx, cmd)
}

func complete(h host.Reader, argv []string, a Attributes) (host.Cmd, error) {
	cmd, err := frame(h, a)
	if err != nil {
		return cmd, err
	}
	cmd.Args, err = find(h, argv, a)
	for _, arg := range cmd.Args {
		cmd.ShownArgs = append(cmd.ShownArgs, redacted(arg, a))
	}
	if logOutput(a) != never {
		cmd.Show = func(res host.Result) string { return output(res, a) }
	}
	return cmd, err
}

// run runs a command until it succeeds or its tries are used up. Only exit codes cause another try,
// not a timeout or a command that can't be run. earlier is the first try if an earlier process started it, or nil.
func run(ctx context.Context, h resource.Writer, argv []string, a Attributes, earlier *host.Resumed) error {
	cmd, err := complete(h, argv, a)
	if err != nil {
		return err
	}
	cmd.Detached = true // it may stop the agent, or have to outlive it
	tries := ptr.Deref(a.Tries, 1)
	for try := int32(1); ; try++ {
		res, err := attempt(ctx, h, cmd, earlier)
		if err != nil {
			return err
		}
		earlier = nil
		good := res.ExitCode != notFound && slices.Contains(a.Returns, int32(res.ExitCode))
		if good {
			reportOutput(h, res, a)
			return nil
		}
		if try >= tries || res.ExitCode == notFound {
			return failure(res, a)
		}
		if err := resource.Wait(ctx, ptr.Deref(a.TrySleepSeconds, 0).Duration()); err != nil {
			return err
		}
	}
}

// attempt runs a command, unless an earlier process has.
func attempt(ctx context.Context, h resource.Writer, cmd host.Cmd, earlier *host.Resumed) (host.Result, error) {
	if earlier != nil {
		return earlier.Result, earlier.Err
	}
	return h.Run(ctx, cmd)
}
