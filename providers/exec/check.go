package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// Precheck implements [resource.Prechecker]. It reports a command that can't be started, that its checks may have seen less than they
// would without a simulation, and otherwise that the command decides.
func (posix) Precheck(_ context.Context, h resource.Reader, writes []resource.Write[Attributes]) []error {
	errs := make([]error, len(writes))
	for i, w := range writes {
		if len(w.Want.Unless)+len(w.Want.OnlyIf) > 0 {
			w.AddNote("its checks ran in a sandbox without a network, /run and other processes: an apply may find that nothing is to be done\n")
		}
		errs[i] = errors.Join(obstacle(h, w.Want), &resource.UnknownError{Reason: "runs a command"})
	}
	return errs
}

// PrecheckRead implements [resource.ReadPrechecker]: what the commands of its checks find may change. Nothing else keeps it from running.
func (posix) PrecheckRead(_ context.Context, h resource.Reader, is, want Attributes) error {
	if is.due || ptr.Deref(want.RefreshOnly, false) {
		return nil
	}
	if made, err := created(h, want); made || err != nil {
		return err
	}
	return &resource.ProvisionalError{Err: errors.New("its checks may find something else")}
}

// PrecheckRefresh implements [resource.RefreshPrechecker]. What notifies the Exec may change what its commands find.
func (posix) PrecheckRefresh(_ context.Context, h resource.Reader, w resource.Write[Attributes]) error {
	hasCommands := len(w.Want.Unless)+len(w.Want.OnlyIf) > 0
	made, err := created(h, w.Want)
	switch {
	case err != nil:
		return err
	case made:
		return &resource.ProvisionalError{Err: resource.ErrNothingToRefresh}
	case hasCommands || len(w.Changes) > 0 && len(w.Want.Creates) > 0:
		return &resource.UnknownError{Reason: "runs its checks again"}
	}
	return unready(h, w.Want, refreshWords)
}

// obstacle returns why a command can't be started.
func obstacle(h resource.Reader, want Attributes) error { return unready(h, want, commandWords) }

func unready(h resource.Reader, want Attributes, words func(Attributes) ([]string, error)) error {
	argv, err := words(want)
	if err != nil {
		return err
	}
	a, err := forecast.Read(h)
	if err != nil {
		return err
	}
	_, err = credentialsAmong(a.Users, a.Groups, want)
	return errors.Join(err, unusableCwd(h, want), unknownCommand(h, argv, want))
}

// unknownCommand returns an error if there is no such command, which a File may make.
func unknownCommand(h host.Reader, argv []string, want Attributes) error {
	_, err := find(h, argv, want)
	if err != nil && strings.HasPrefix(argv[0], "/") {
		return &resource.MissingError{Kind: "File", Name: argv[0], Err: err}
	}
	for _, dir := range want.Path {
		if err != nil {
			err = &resource.MissingError{Kind: "File", Name: strings.TrimSuffix(dir, "/") + "/" + argv[0], Err: err}
		}
	}
	return err
}

// unusableCwd returns an error if the command can't run in its directory.
func unusableCwd(h resource.Reader, want Attributes) error {
	if want.Cwd == nil {
		return nil
	}
	stays, planned := resource.PlannedNames(h, "File")[*want.Cwd]
	info, err := h.Stat(*want.Cwd)
	switch {
	case errors.Is(err, fs.ErrNotExist), planned && !stays:
		return &resource.MissingError{Kind: "File", Name: *want.Cwd, Err: fmt.Errorf("cwd %s does not exist on the host: create it first, with a File that has ensure: directory", *want.Cwd)}
	case err != nil:
		return fmt.Errorf("cannot look at cwd: %w", err)
	case !info.IsDir():
		return fmt.Errorf("cwd %s is not a directory: use another", *want.Cwd)
	}
	return nil
}
